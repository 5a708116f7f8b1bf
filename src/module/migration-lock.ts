/** An arbitrary fixed number. Keeps two instances that start together from migrating at the same time. */
export const MIGRATION_LOCK = 7_263_001;
