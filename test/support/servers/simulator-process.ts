import { randomBytes } from 'node:crypto';
import { Program, type ProgramPlan } from './program';
import { programFile } from './program-file';
import { SimulatorClient } from './simulator-client';

interface SimulatorPlan extends Pick<ProgramPlan, 'logFile' | 'onDeath' | 'signal'> {
  /** The build runs, else the sources. */
  readonly isBuilt?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
}

/** The provider's name in attempts. */
export const PROVIDER = 'simulator';

/** The payment provider, a process of its own whose books are the truth about money. */
export class SimulatorProcess extends SimulatorClient {
  private constructor(
    private readonly program: Program,
    url: string,
    /** With which both sides sign. */
    readonly secret: string,
  ) {
    super(url);
  }

  static async start({ isBuilt, environment, ...plan }: SimulatorPlan): Promise<SimulatorProcess> {
    const secret = randomBytes(24).toString('hex');
    const program = new Program({
      ...{ ...plan, name: 'the payment simulator', nodeArguments: programFile('payment-simulator', isBuilt) },
      environment: { PAYMENT_SIMULATOR_SECRET: secret, PAYMENT_SIMULATOR_NAME: PROVIDER, ...environment },
    });
    program.spawn();
    try {
      const [, url = ''] = await program.untilSays(/^\{"url":"([^"]+)"\}/m);
      return new SimulatorProcess(program, url, secret);
    } catch (error) {
      await program.kill();
      throw error;
    }
  }

  /** What tells the service where it is. */
  environmentAt(url = this.url): Record<string, string> {
    return {
      HTTP_PAYMENT_PROVIDER_NAME: PROVIDER,
      HTTP_PAYMENT_PROVIDER_URL: url,
      HTTP_PAYMENT_PROVIDER_SECRET: this.secret,
    };
  }

  /** It keeps nothing that an orderly end would save. */
  stop(): Promise<void> {
    return this.program.kill();
  }
}
