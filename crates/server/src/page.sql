CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('index', 'make', 'render')),
    work TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    stage TEXT NOT NULL DEFAULT '',
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    message TEXT,
    warnings TEXT NOT NULL DEFAULT '[]',
    runs INTEGER NOT NULL DEFAULT 0,
    created_ms INTEGER NOT NULL
);
CREATE INDEX jobs_status ON jobs (status, kind);
CREATE TABLE demonstrations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    steps TEXT NOT NULL,
    options TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0,
    created_ms INTEGER NOT NULL
);
CREATE TABLE revisions (
    demonstration INTEGER NOT NULL REFERENCES demonstrations ON DELETE CASCADE,
    number INTEGER NOT NULL,
    action TEXT NOT NULL,
    wishes TEXT NOT NULL,
    answer TEXT NOT NULL,
    took_ms INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    PRIMARY KEY (demonstration, number)
) WITHOUT ROWID;
CREATE TABLE shares (
    token TEXT PRIMARY KEY,
    demonstration INTEGER NOT NULL REFERENCES demonstrations ON DELETE CASCADE,
    job INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE choices (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    demonstration INTEGER NOT NULL,
    line TEXT NOT NULL
);
