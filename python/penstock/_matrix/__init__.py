"""The matrix: `csr_array`, its transpose, what is made of it entry by entry, and what edges and tables become one."""
