import { BrokerLoginRefusedError } from '../../../src/rabbit/errors';

describe('a refused login', () => {
  it.each([
    ['amqp://u:p@h/100%', 'the vhost "100%" does not exist'],
    ['amqp://u:p@h/%ZZ', 'the vhost "%ZZ" does not exist'],
    ['amqp://u:p@h/a%2Fb', 'the vhost "a/b" does not exist'],
    ['amqp://%zz:p@h/v', "set_permissions -p 'v' '%zz'"],
  ])('is explained for any URL that the connection takes: %s', (url, sentence) => {
    const error = new Error('Expected ConnectionOpenOk; got <ConnectionClose channel:0>');
    expect(BrokerLoginRefusedError.from(error, url, 'p')?.message).toContain(sentence);
  });
});
