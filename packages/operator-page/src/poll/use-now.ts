import { useEffect, useState } from 'preact/hooks';
import { useApp } from '../session/app-context';

/** The service's time in milliseconds; the component is drawn again every second. */
export function useNow(): number {
  const { clock } = useApp();
  const [now, setNow] = useState(() => clock.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNow(clock.now()), 1_000);
    return () => window.clearInterval(timer);
  }, [clock]);
  return now;
}
