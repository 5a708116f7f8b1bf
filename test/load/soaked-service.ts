import { join } from 'node:path';
import { freePort } from '../support/servers/free-port';
import { programFile } from '../support/servers/program-file';
import { ServiceProcess } from '../support/servers/service-process';
import { type Sample } from './sample';

const START_LIMIT_MS = 60_000;
const PROBE = ['--expose-gc', '--require', join(__dirname, 'memory-probe.js')];

/** The service, from its sources, as a process of its own whose memory can be asked for. */
export class SoakedService extends ServiceProcess {
  /** Resolves once it is ready. */
  static async open(environment: Readonly<Record<string, string>>, logFile: string): Promise<SoakedService> {
    const nodeArguments = [...PROBE, ...programFile('service')];
    const plan = { name: 'the service', nodeArguments, environment, logFile, startLimitMs: START_LIMIT_MS };
    const service = new SoakedService({ ...plan, port: await freePort() });
    await service.start();
    return service;
  }

  async sample(atMs: number): Promise<Sample> {
    return { atMs, ...((await this.ask('sample')) as Omit<Sample, 'atMs'>) };
  }

  /** Asks it to stop, and tells whether it ended in order: Nest ends with the very signal after its hooks. */
  async stopInOrder(): Promise<boolean> {
    await this.stop();
    const isStopped = this.output.includes('stopped: ');
    if (!isStopped) process.stderr.write(`${this.lastWords}\n`);
    return isStopped;
  }
}
