import { DEFAULT_PREFIX } from '../../../src/rabbit';
import { NO_DELIVERY_LIMIT, servicePermissions, TopologyNames } from '../../../src/rabbit/topology';

interface Permission {
  readonly user: string;
  readonly vhost: string;
  readonly configure: string;
  readonly write: string;
  readonly read: string;
}

/** The definitions that a broker imports at its first start, in RabbitMQ's format. */
export interface BrokerDefinitions {
  readonly users: readonly { name: string; password: string; tags: string[] }[];
  readonly vhosts: readonly { name: string }[];
  readonly permissions: readonly Permission[];
  readonly exchanges: readonly Record<string, unknown>[];
  readonly policies: readonly Record<string, unknown>[];
}

const VHOST = '/';
const NOTHING = '^$';
const LEADERS_BALANCED = { 'queue-leader-locator': 'balanced' };

/**
 * Users with the minimum permissions, and the two exchanges that other systems use. The image replaces names and
 * passwords in `${…}` at its start, so that neither the image nor the repository contains a password.
 * - service: everything below the prefix, and the default exchange for answers to commands, nothing else.
 * - sender: publishes commands, reads nothing.
 * - listener: binds queues of its own (`listener.*`) to the events.
 */
export function brokerDefinitions(names = new TopologyNames(DEFAULT_PREFIX)): BrokerDefinitions {
  const listeners = '^listener\\.';
  return {
    users: [
      user('${RABBITMQ_DEFAULT_USER}', 'RABBITMQ_DEFAULT_PASS', ['administrator']),
      user('service', 'OT_SERVICE_PASSWORD'),
      user('sender', 'OT_SENDER_PASSWORD'),
      user('listener', 'OT_LISTENER_PASSWORD'),
    ],
    vhosts: [{ name: VHOST }],
    permissions: [
      { user: '${RABBITMQ_DEFAULT_USER}', vhost: VHOST, configure: '.*', write: '.*', read: '.*' },
      { user: 'service', vhost: VHOST, ...servicePermissions(names) },
      { user: 'sender', vhost: VHOST, configure: NOTHING, write: `^${quote(names.commands)}$`, read: NOTHING },
      {
        user: 'listener',
        vhost: VHOST,
        configure: listeners,
        write: listeners,
        read: `^(${quote(names.events)}$|listener\\.)`,
      },
    ],
    exchanges: [names.events, names.commands].map((name) => ({
      name,
      vhost: VHOST,
      type: 'topic',
      durable: true,
      auto_delete: false,
      internal: false,
      arguments: {},
    })),
    policies: [leadersBalanced(names), parkedIsKept(names)],
  };
}

/**
 * A quorum queue is led by the node that its declarer is connected to, so one node would lead the whole ladder. This is
 * a policy because an existing queue that lacks the argument cannot be declared with it (406 PRECONDITION_FAILED on
 * 3.10, 4.0, and 4.3).
 */
function leadersBalanced({ prefix }: TopologyNames): Record<string, unknown> {
  return {
    vhost: VHOST,
    name: `${prefix}.leaders`,
    pattern: `^${quote(prefix)}\\.`,
    'apply-to': 'queues',
    definition: LEADERS_BALANCED,
    priority: 0,
  };
}

/**
 * For a parked queue that an earlier release declared without a limit: from 4.0 on, RabbitMQ would delete its messages
 * after 20 reads. Only one policy applies to a queue, so this one repeats the key of the general policy.
 */
function parkedIsKept({ prefix, parked }: TopologyNames): Record<string, unknown> {
  return {
    vhost: VHOST,
    name: `${prefix}.parked`,
    pattern: `^${quote(parked)}$`,
    'apply-to': 'queues',
    definition: { ...LEADERS_BALANCED, 'delivery-limit': NO_DELIVERY_LIMIT },
    priority: 1,
  };
}

function user(name: string, password: string, tags: string[] = []): BrokerDefinitions['users'][number] {
  return { name, password: `\${${password}}`, tags };
}

function quote(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
