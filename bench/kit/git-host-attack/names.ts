import { type Attack, type AttackScene, theirs } from './scene.ts'

const hostile = [
  '..',
  '.',
  '-rf',
  '--upload-pack=id',
  'a\nb',
  'a\r\nX-Evil: 1',
  'shop\u202Egnp',
  '\u2066shop\u2069',
  'a b',
  'a;id',
  '$(id)',
  '`id`',
  'a\0b',
  '%2e%2e',
  '..%2f..',
  '../../user',
  'a/../../user',
  'a\\..\\b',
  'shop?x=1',
  'shop#x',
  '@{-1}',
  'x'.repeat(500),
  '\ud800',
  '💥',
]
const parts = ['', '/branches', '/files', '/file', '/webhooks', '/clone-token']

/** Names of owners, repositories, branches and files that point to other paths, inject a command, or inject markup. */
export function nameAttacks(scene: AttackScene): Attack[] {
  const { request, validate, wrong, mallory, host, own } = scene
  const refused = [400, 403, 404, 409, 414]
  /** Git itself allows these names; they must always be treated as plain text. */
  const branches = new Set(['a;id', '$(id)', '`id`', '%2e%2e', 'shop#x', '💥'])
  const encoded = (text: string) => encodeURIComponent(text.toWellFormed())
  /** All requests to the git host meanwhile must be about repositories, with unambiguous paths. */
  const watched = (name: string, run: () => Promise<void>): Attack => ({
    name,
    async run() {
      const before = host.calls.length
      await run()
      // A percent sign in the name itself is encoded as %25, and stays encoded.
      for (const { what } of host.calls.slice(before))
        if (/(^|\/)\.\.?(\/|$)|%2e|%00|[\s]|\/\//i.test(what.replace(/^\w+ /, '')))
          wrong.push(`${name}: the git host received ${what}`)
    },
  })
  return [
    watched('owners and repositories', async () => {
      for (const odd of hostile)
        for (const path of [`mallory/${encoded(odd)}`, `${encoded(odd)}/app`]) {
          for (const part of parts)
            validate(path + part, await request(mallory, 'GET', `/gitprovider/repos/${path}${part}`), refused)
          validate(path, await request(mallory, 'DELETE', `/gitprovider/repos/${path}`), refused)
          validate(path, await request(mallory, 'POST', `/gitprovider/repos/${path}/webhooks`), refused)
        }
    }),
    watched('organisations', async () => {
      for (const odd of hostile) validate(odd, await request(mallory, 'GET', `/gitprovider/orgs/${encoded(odd)}/repos`), refused)
      for (const odd of hostile)
        validate(odd, await request(mallory, 'GET', `/gitprovider/repos?owner=${encoded(odd)}`), [200, 400])
    }),
    watched('branches and files', async () => {
      for (const odd of hostile)
        for (const query of [`path=${encoded(odd)}`, `branch=${encoded(odd)}`, `path=a/${encoded(odd)}`]) {
          validate(
            query,
            await request(mallory, 'GET', `/gitprovider/repos/${theirs}/files?${query}`),
            odd === '.' ? [200, ...refused] : refused,
          )
          const file = await request(mallory, 'GET', `/gitprovider/repos/${theirs}/file?${query.replace('path', 'file')}`)
          validate(query, file, refused)
        }
    }),
    watched('new repositories, hooks that are none', async () => {
      for (const odd of hostile) {
        validate(odd, await request(mallory, 'POST', '/gitprovider/repos', { body: { name: odd } }), refused)
        validate(odd, await request(mallory, 'POST', '/gitprovider/repos', { body: { name: 'x', owner: odd } }), refused)
      }
      for (const hookId of [-1, 0, 2 ** 53, 1.5, '1', '../1', null])
        validate(
          String(hookId),
          await request(mallory, 'DELETE', `/gitprovider/repos/${theirs}/webhooks`, { body: { hookId } }),
          refused,
        )
    }),
    watched('projects and their branches', async () => {
      for (const odd of hostile) {
        const git = { gitProvider: 'github', gitOwner: 'mallory', gitRepo: 'app' }
        if (!branches.has(odd))
          validate(odd, await request(mallory, 'POST', `/projects/${own.id}/branch`, { body: { branch: odd } }), refused)
        for (const more of [{ gitOwner: odd }, { gitRepo: odd }, ...(branches.has(odd) ? [] : [{ gitBranch: odd }])])
          validate(odd, await request(mallory, 'POST', '/projects', { body: { name: 'odd', ...git, ...more } }), refused)
        const link = { owner: 'mallory', repo: 'app', branch: odd }
        if (!branches.has(odd))
          validate(odd, await request(mallory, 'POST', `/projects/${own.id}/git/link`, { body: link }), refused)
      }
    }),
  ]
}
