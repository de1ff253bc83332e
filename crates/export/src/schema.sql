-- Tables of stored runs, for SQLite and PostgreSQL. One database can hold many runs.
CREATE TABLE IF NOT EXISTS run (
    id TEXT PRIMARY KEY,
    name TEXT,
    at TEXT NOT NULL, -- start, RFC 3339
    iotax TEXT NOT NULL, -- version
    state TEXT NOT NULL, -- complete, interrupted, ...
    command TEXT NOT NULL,
    seed TEXT NOT NULL,
    zone DOUBLE PRECISION NOT NULL, -- largest negligible difference, a fraction
    headline TEXT
);
CREATE TABLE IF NOT EXISTS figure (
    run TEXT NOT NULL REFERENCES run,
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    against TEXT NOT NULL, -- the other stack of a ratio; empty for a value
    metric TEXT NOT NULL,
    state TEXT NOT NULL, -- known, failed, missing
    value DOUBLE PRECISION, -- in the unit beside it; NULL unless known
    unit TEXT NOT NULL,
    low DOUBLE PRECISION, -- of the 95 % interval
    high DOUBLE PRECISION,
    n BIGINT,
    "of" TEXT NOT NULL, -- what n counts: rounds, visits, ...
    note TEXT NOT NULL,
    emulated TEXT NOT NULL, -- why the figure is not representative; empty if it is
    sweep TEXT NOT NULL,
    iodepth TEXT NOT NULL,
    numjobs TEXT NOT NULL,
    bs TEXT NOT NULL,
    rate_iops TEXT NOT NULL,
    kind TEXT NOT NULL, -- value, ratio, added, share, ...
    quantity TEXT NOT NULL,
    direction TEXT NOT NULL, -- read, write, or empty for both
    statistic TEXT NOT NULL, -- mean, p99, ...
    scope TEXT NOT NULL -- empty, all at once, matched rate, bill, ...
);
CREATE TABLE IF NOT EXISTS slice_figure (
    run TEXT NOT NULL REFERENCES run,
    workload TEXT NOT NULL,
    stack TEXT NOT NULL,
    visit BIGINT NOT NULL,
    "set" BIGINT NOT NULL,
    round BIGINT NOT NULL,
    slice BIGINT NOT NULL,
    purpose TEXT NOT NULL,
    start_s DOUBLE PRECISION NOT NULL, -- from the run's first slice
    window_s DOUBLE PRECISION NOT NULL,
    short_slices BIGINT NOT NULL,
    metric TEXT NOT NULL,
    value DOUBLE PRECISION,
    note TEXT NOT NULL,
    unit TEXT NOT NULL
);
