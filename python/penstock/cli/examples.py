"""The examples in the help of each command: a line to type, and what it does."""

from __future__ import annotations

EXAMPLES: dict[str, list[tuple[str, str]]] = {
    "demo": [
        ("penstock demo", "generate two matrices, multiply in core and streamed, check both"),
        ("penstock demo web.mtx.gz --repeats 5", "the same with a matrix of your own"),
    ],
    "info": [
        ("penstock info web.mtx.gz --spy", "what is in a file, with a picture of characters"),
        ("penstock info web.penstock --plot web.png", "the same of a store, with a figure"),
    ],
    "convert": [
        ("penstock convert edges.csv web.penstock --packed", "an edge list into a native store"),
        ("penstock convert a.mtx a.npz --dtype float32", "Matrix Market into SciPy's format"),
    ],
    "generate rmat": [
        ("penstock generate rmat graph.penstock --scale 18 --seed 1", "262,144 vertices"),
        ("penstock generate rmat web.mtx --scale 12 --directed", "edges in one direction, as text"),
    ],
    "generate bter": [
        ("penstock generate bter social.npz --scale 14", "a graph with communities"),
        ("penstock generate bter social.npz --clustering 0.3 --seed 2", "with more triangles"),
    ],
    "generate uniform": [
        ("penstock generate uniform u.npz --rows 1000", "a square matrix"),
        (
            "penstock generate uniform u.npz --rows 1000 --cols 50 --nnz-per-row 4 --dtype float64",
            "a tall one with values",
        ),
    ],
    "generate advection-diffusion": [
        ("penstock generate advection-diffusion pde.mtx --edge 40", "64,000 equations"),
        ("penstock generate advection-diffusion pde.npz --a 1 --b 0", "another wind"),
    ],
    "generate laplacian": [
        ("penstock generate laplacian grid.mtx --shape 300,300", "5 points, in the plane"),
        ("penstock generate laplacian cube.penstock --shape 64,64,64", "7 points, in space"),
    ],
    "generate banded": [
        ("penstock generate banded band.npz --rows 10000 --diagonals 3", "seven diagonals"),
        ("penstock generate banded band.mtx --rows 500 --diagonals 1 --seed 4", "tridiagonal"),
    ],
    "generate road-grid": [
        ("penstock generate road-grid roads.npz --nx 500 --ny 500", "250,000 crossings"),
        ("penstock generate road-grid roads.mtx --removed 0.4", "with more gaps"),
    ],
    "generate lift": [
        ("penstock generate lift web.mtx.gz --copies 200", "writes web-x200.penstock"),
        ("penstock generate lift web.mtx.gz big.penstock --edges 1e9 --mix 0.1", "by its size"),
    ],
    "generate random-geometric": [
        ("penstock generate random-geometric near.npz -n 10000", "about 10 neighbours each"),
        (
            "penstock generate random-geometric near.mtx -n 500 --radius 0.1 --dtype float64",
            "with distances",
        ),
    ],
    "generate barabasi-albert": [
        (
            "penstock generate barabasi-albert hubs.penstock -n 100000 -m 8",
            "a power law of degrees",
        ),
        ("penstock generate barabasi-albert tree.npz -n 1000 -m 1", "a tree"),
    ],
    "generate watts-strogatz": [
        (
            "penstock generate watts-strogatz small.npz -n 10000 -k 10 -p 0.1",
            "a ring with shortcuts",
        ),
        ("penstock generate watts-strogatz ring.npz -n 1000 -p 0", "without them"),
    ],
    "generate planted-partition": [
        ("penstock generate planted-partition groups.npz", "1000 groups of 100"),
        (
            "penstock generate planted-partition g.npz --groups 9 --p-in 0.5 --p-out 0.01",
            "nine groups",
        ),
    ],
    "generate stochastic-block": [
        (
            "penstock generate stochastic-block b.npz --sizes 60,40 --p '0.1,0.01;0.01,0.2'",
            "two groups",
        ),
        ("penstock generate stochastic-block b.mtx --sizes 9,9 --p '0,1;1,0'", "a bipartite graph"),
    ],
    "multiply": [
        ("penstock multiply web.mtx --verify", "time A x, compare it with SciPy's"),
        ("penstock multiply web.penstock --device-memory 1GB --explain", "streamed, and why"),
    ],
    "spgemm": [
        ("penstock spgemm a.mtx --verify", "time A A, compare it with SciPy's"),
        ("penstock spgemm a.mtx b.mtx --out c.penstock", "write A B into a store"),
    ],
    "solve": [
        ("penstock solve a.mtx --verify", "choose a method, and check the residual"),
        (
            "penstock solve a.mtx --method cg --precond ic0 --rhs b.npy --out x.npy",
            "solve for a right-hand side of yours",
        ),
    ],
    "bfs": [
        ("penstock bfs web.mtx --source 7 --out levels.csv", "levels of all vertices, as a table"),
        ("penstock bfs web.penstock --sources 64 --verify", "64 searches, each of them checked"),
    ],
    "sssp": [
        ("penstock sssp roads.gr --source 0 --out distance.npy", "shortest paths from a crossing"),
        ("penstock sssp roads.gr --sources 8 --predecessors --verify", "with the paths, checked"),
    ],
    "cc": [
        ("penstock cc web.mtx --out component.parquet", "the component of each vertex"),
        ("penstock cc web.penstock --verify --json", "checked, for another program"),
    ],
    "scc": [
        ("penstock scc web.mtx", "strongly connected components"),
        ("penstock scc web.mtx --out component.npy --verify", "written to a file, checked"),
    ],
    "pagerank": [
        ("penstock pagerank web.mtx --top 10", "the ten most important vertices"),
        (
            "penstock pagerank web.mtx --alpha 0.9 --tol 1e-9 --out rank.parquet",
            "closer, as a table",
        ),
    ],
    "triangles": [
        ("penstock triangles social.mtx", "how many there are, and who is in most of them"),
        ("penstock triangles social.mtx --verify --out triangles.csv", "of each vertex, checked"),
    ],
    "core": [
        ("penstock core social.mtx", "core numbers"),
        ("penstock core social.mtx --out core.npy --top 20", "written to a file"),
    ],
    "betweenness": [
        ("penstock betweenness social.mtx --top 10", "exact, by a search from every vertex"),
        ("penstock betweenness web.mtx --sources 64 --seed 1", "estimated, from 64 of them"),
    ],
    "partition": [
        ("penstock partition web.mtx -n 16 --compare", "what 16 ranks would exchange, by method"),
        ("penstock partition web.mtx -n 4 --method bins", "one method in detail"),
    ],
    "scale": [
        ("penstock scale web.mtx --ranks 1..1024", "where a product stops scaling"),
        ("penstock scale rmat:20 --op spmm --columns 128", "products with a dense matrix"),
    ],
    "probe": [
        ("penstock probe", "measure memories and links, or show what was measured"),
        ("penstock probe --refresh --plot machine.png", "measure again, and draw it"),
    ],
    "run": [
        ("penstock run -n 4 solve.py", "a script on four ranks"),
        ("penstock run -n 2 --threads 8 -m mypackage.job --steps 10", "a module, with arguments"),
    ],
    "doctor": [
        ("penstock doctor", "what this machine has, and what to install"),
        ("penstock doctor --json", "the same for a bug report"),
    ],
}
