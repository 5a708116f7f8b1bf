/** Thrown by work that wants what it wrote to be rolled back. It says nothing about the transaction of the caller. */
export abstract class ExpectedRollback extends Error {}
