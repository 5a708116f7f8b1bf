/** @throws Error unless the service has answered a report so. */
export async function expectOutcome(answer: Promise<string>, wanted: string): Promise<void> {
  const outcome = await answer;
  if (outcome !== wanted) throw new Error(`the service called the report "${outcome}", not "${wanted}"`);
}
