package ledger

// Migrations are what bring a ledger from one version to the next.
var Migrations = migrations

// Logged is the migration that makes the chain.
const Logged = logged
