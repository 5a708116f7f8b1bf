import { OwnServer } from '../support/servers/own-server';

interface ClusterNode {
  /** Short, as the commands take it. */
  readonly name: string;
  /** As the broker names it. */
  readonly node: string;
  readonly url: string;
  readonly managementUrl: string;
}

/** Three brokers that form a cluster, each to be killed and started again; the ports stay the same. */
export class BrokerCluster extends OwnServer {
  /** Of the given series; takes 15 to 40 s. */
  static open(series: string): Promise<BrokerCluster> {
    return new BrokerCluster('test/brokers/serve-cluster.mjs', ['--series', series]).ready();
  }

  get version(): string {
    return this.text('version');
  }

  get nodes(): readonly ClusterNode[] {
    return this.told('nodes') as readonly ClusterNode[];
  }

  /** kill -9. */
  killNode(name: string): Promise<void> {
    return this.tell(`kill ${name}`);
  }

  startNode(name: string): Promise<void> {
    return this.tell(`start ${name}`);
  }
}
