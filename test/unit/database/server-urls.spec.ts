import { findSessionProblem, parseServerUrls } from '../../../src/database/resilient-client';

const parse = (url: string) => {
  const servers = parseServerUrls(url);
  if (!servers) throw new Error(`${url} is not a URL of PostgreSQL`);
  return servers;
};

describe('a URL of PostgreSQL', () => {
  it('names one server, whose sessions may be of any kind', () => {
    const url = 'postgresql://u:p@h:5433/db?sslmode=require';
    expect(parseServerUrls(url)).toEqual({ urls: [url], mustWrite: false });
    expect(parse('postgres://h/db?target_session_attrs=any').mustWrite).toBe(false);
  });

  it('names several, each with its port, and all with one login and the same options', () => {
    expect(parseServerUrls('postgres://u:p%40@h1:5433,[::1],h3:1/db?sslmode=require')).toEqual({
      urls: [
        'postgres://u:p%40@h1:5433/db?sslmode=require',
        'postgres://u:p%40@[::1]/db?sslmode=require',
        'postgres://u:p%40@h3:1/db?sslmode=require',
      ],
      mustWrite: true,
    });
  });

  it.each(['read-write', 'primary'])('wants a server that takes writes for target_session_attrs=%s', (wanted) => {
    const servers = parse(`postgres://h/db?target_session_attrs=${wanted}`);
    expect(servers.mustWrite).toBe(true);
    expect(findSessionProblem(servers)).toBeUndefined();
  });

  it.each(['standby', 'read-only', 'prefer-standby', 'ANY'])('is refused with target_session_attrs=%s', (wanted) => {
    const servers = parse(`postgres://h/db?target_session_attrs=${wanted}`);
    expect(findSessionProblem(servers)).toContain('must be read-write or primary');
  });

  it('is refused where any of several servers would do', () => {
    expect(findSessionProblem(parse('postgres://h1,h2/db?target_session_attrs=any'))).toBeDefined();
  });

  it.each(['', 'h/db', 'mysql://h/db', 'postgres://h:x/db', 'postgres://h1:5432,h2:x/db', 'postgres://h 1,h2/db'])(
    'is not %j',
    (text) => {
      expect(parseServerUrls(text)).toBeUndefined();
    },
  );
});
