import { type EntityManager, type QueryRunner } from 'typeorm';

const own = new WeakSet<QueryRunner>();

/** The transaction of this runner was begun here, or is the part of a host's that belongs to one call. */
export function markOwn(runner: QueryRunner): void {
  own.add(runner);
}

/** False for a transaction that a host has begun. */
export function isOwn({ queryRunner }: EntityManager): boolean {
  return queryRunner !== undefined && own.has(queryRunner);
}
