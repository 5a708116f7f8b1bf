import { Logger } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { type Clock } from '../../clock';
import { ownTransaction } from '../../database';
import {
  BrokerInspection,
  type ChannelModel,
  type PrefixOwner,
  readPrefixOwner,
  removeTopology,
  takePrefix,
  type TopologyNames,
} from '../../rabbit';
import { type EngineSettings, type WakeUpRepublisher, type RepublicationAnswer } from './wake-up-republisher';

interface PrefixDependencies {
  readonly dataSource: DataSource;
  readonly settings: EngineSettings;
  readonly republication: WakeUpRepublisher;
  readonly names: TopologyNames;
}

/** Both services look once a minute. A rival that does not show for this long is gone. */
const RIVAL_MS = 300_000;
/** If several instances start on a prefix that another database has used within this time, only the first acts. */
const QUIET_S = 30;
/** Instances that still use the plugin during a deployment have this many seconds to follow. */
const LEFT_S = 3_600;
const LOST = 'the broker is another one than before, or has lost its data';
const LEFT = 'the exchange of the plugin is deleted, with what was handed to it after the transport was changed';

/** Checks whether the broker still has the pending wake-ups, and whether another service uses the prefix. */
export class PrefixWatch {
  private readonly logger = new Logger(PrefixWatch.name);
  private databaseId: string | undefined;
  private hasOwned = false;
  private rival: { readonly databaseId: string; readonly seenMs: number } | undefined;
  private isLeftRemoved = false;

  constructor(
    private readonly deps: PrefixDependencies,
    private readonly clock: Clock,
  ) {}

  /** Describes another service on the same prefix; undefined: there is none. */
  get rivalry(): string | undefined {
    const { rival, clock } = this;
    if (!rival || clock.monotonic() - rival.seenMs > RIVAL_MS) return undefined;
    return (
      `another service, with the database ${rival.databaseId}, uses the prefix "${this.deps.names.prefix}" too, and each takes ` +
      'wake-ups and commands of the other; give each its own prefix'
    );
  }

  /** Returns true when what is pending is to be published again, because the broker has lost it or it is deleted here. */
  async inspect(connection: ChannelModel): Promise<boolean> {
    const { dataSource, settings, names } = this.deps;
    this.databaseId ??= await settings.databaseId(dataSource);
    const owner = await readPrefixOwner(connection, names, this.databaseId);
    const isKnown = (await settings.read(dataSource, 'owned-prefix')) === names.prefix;
    // Before the prefix is taken: if this process dies in between, the next one notices the loss.
    const isLost = isKnown && (await this.notice(owner, connection));
    if (owner.type === 'other') this.warn(owner.databaseId);
    const isTaken = owner.type === 'us' || (owner.type === 'nobody' && isKnown && !isLost);
    if (!isTaken) await takePrefix(connection, names, this.databaseId);
    if (!isKnown) await settings.write(dataSource, 'owned-prefix', names.prefix);
    this.hasOwned = true;
    const isRemoved = await this.removeLeft(connection);
    return isLost || isRemoved;
  }

  private async notice(owner: PrefixOwner, connection: ChannelModel): Promise<boolean> {
    // Where this process has been before, a rival has taken the prefix, and nothing is lost.
    if (owner.type === 'us' || (owner.type === 'other' && this.hasOwned)) return false;
    const isEmpty = owner.type === 'nobody';
    const { republication } = this.deps;
    const answer = await (isEmpty ? this.restart(connection) : republication.request({ cause: LOST, quietS: QUIET_S }));
    if (answer === 'requested') this.logger.warn(`${LOST}: what is pending is published again`);
    return answer !== 'too-soon';
  }

  /**
   * Begins anew although a republication is running or has just ended: what it published is gone with the broker's data. Looks
   * again under the lock, because another instance may have acted and taken the prefix meanwhile.
   */
  private restart(connection: ChannelModel): Promise<RepublicationAnswer> {
    const { dataSource, settings, republication, names } = this.deps;
    return ownTransaction(dataSource, async (tx) => {
      await settings.lock(tx, 'owned-prefix');
      const owner = await readPrefixOwner(connection, names, this.databaseId ?? '');
      return owner.type === 'nobody' ? republication.requestIn(tx, { cause: LOST }) : 'too-soon';
    });
  }

  private warn(databaseId: string): void {
    const { prefix } = this.deps.names;
    if (!this.hasOwned) {
      this.logger.warn(`the prefix "${prefix}" was used with another database before (${databaseId}); it is ours now`);
      return;
    }
    const isNew = this.rivalry === undefined;
    this.rival = { databaseId, seenMs: this.clock.monotonic() };
    if (isNew) this.logger.error(this.rivalry);
  }

  /**
   * Deletes the plugin's exchange an hour after another transport took over, because RabbitMQ 4.3 warns of it. Only the first
   * instance to change its transport published everything again, and the others used the exchange until they followed.
   */
  private async removeLeft(connection: ChannelModel): Promise<boolean> {
    if (this.isLeftRemoved) return false;
    const { dataSource, settings, names, republication } = this.deps;
    const name = await settings.read(dataSource, 'delay-transport');
    if (name === 'delayed-exchange' || ((await settings.age(dataSource, 'message-path')) ?? 0) < LEFT_S) return false;
    const isThere = await new BrokerInspection(connection).hasExchange(names.delayed);
    if (isThere) {
      // First: if this process dies in between, the next one does both.
      await republication.request({ cause: LEFT, quietS: QUIET_S });
      await removeTopology(connection, { queues: [], exchanges: [names.delayed] });
    }
    this.isLeftRemoved = true;
    return isThere;
  }
}
