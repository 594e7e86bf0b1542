"""Prints why no NVIDIA GPU can be used here; nothing where there is one. Asks the driver alone."""

import ctypes

try:
    driver = ctypes.CDLL("libcuda.so.1")
except OSError:
    print("there is no NVIDIA driver (libcuda.so.1)")
else:
    count = ctypes.c_int(0)
    if error := driver.cuInit(0):
        print(f"the NVIDIA driver finds no GPU (cuInit: {error})")
    elif driver.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
        print("the NVIDIA driver lists no GPU")
