/** For example `1 order` or `1,250 orders`. @param count as it is shown */
export function ordersOf(count: string): string {
  return count === '1' ? '1 order' : `${count} orders`;
}
