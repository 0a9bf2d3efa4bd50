import { createHmac, randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type Attack, type AttackScene, appSecret, repository, theirs } from './scene.ts'

const commit = () => randomUUID().replaceAll('-', '').padEnd(40, 'a')
const push = (name: string, more: object = {}) => ({
  ...{ ref: 'refs/heads/main', after: commit(), deleted: false },
  repository: { id: 1, full_name: name, default_branch: 'main' },
  head_commit: { message: 'x', author: { name: 'M' } },
  ...more,
})
const signed = (text: string, secret: string, hash = 'sha256') => `${hash}=${createHmac(hash, secret).update(text).digest('hex')}`

/** Webhook deliveries that are forged, replayed, signed with another secret, too large, or malformed. */
export function deliveryAttacks(scene: AttackScene, real: { id: string; payload: object }): Attack[] {
  const { deliver, validate, hookOf, request, wrong, owner, mallory, own } = scene
  const text = JSON.stringify(push(repository))
  const forged: Record<string, Record<string, string>> = {
    none: { 'x-hub-signature-256': '' },
    zeros: { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` },
    'of mallory’s hook': { 'x-hub-signature-256': signed(text, hookOf(theirs).secret) },
    'of an empty secret': { 'x-hub-signature-256': signed(text, '') },
    'of the hook’s id': { 'x-hub-signature-256': signed(text, hookOf(repository).hook) },
    'SHA-1 with the right secret': {
      'x-hub-signature-256': '',
      'x-hub-signature': signed(text, hookOf(repository).secret, 'sha1'),
    },
    'right, of other bytes': { 'x-hub-signature-256': signed(`${text} `, hookOf(repository).secret) },
    'right, with a word before it': { 'x-hub-signature-256': `x, ${signed(text, hookOf(repository).secret)}` },
  }
  const forgeries = Object.entries(forged).flatMap(([name, headers]) =>
    [hookOf(repository).hook, null].map((hook) => ({
      name: `forged: ${name}${hook ? '' : ', without a hook'}`,
      run: async () => validate(name, await deliver({ raw: text, hook, headers }), [401]),
    })),
  )
  const mine = () => ({ ...hookOf(theirs) })
  return [
    ...forgeries,
    {
      name: 'another project’s secret, at its own hook and at the victim’s',
      async run() {
        validate('at its own', await deliver({ ...mine(), payload: push(repository) }), [400])
        validate(
          'at the victim’s',
          await deliver({ ...hookOf(repository), secret: mine().secret, payload: push(repository) }),
          [401],
        )
        for (const provider of ['gitlab', 'gitea', 'bitbucket', '..%2f..%2ftokens', '__proto__']) {
          const headers = { 'x-gitlab-token': mine().secret, 'x-gitlab-event': 'Push Hook', 'x-gitea-event': 'push' }
          validate(provider, await deliver({ ...hookOf(repository), provider, headers, payload: push(repository) }), [401, 404])
        }
      },
    },
    {
      name: 'replayed: under its id, under another, with a space',
      async run() {
        const raw = JSON.stringify(real.payload)
        const again = await deliver({ ...hookOf(repository), raw, id: real.id })
        const renamed = await deliver({ ...hookOf(repository), raw })
        for (const answer of [again, renamed]) {
          validate('replayed', answer, [202])
          if (answer.body?.data?.outcome !== 'duplicate') wrong.push(`a replay was ${answer.body?.data?.outcome}`)
        }
        const headers = { 'x-hub-signature-256': signed(raw, hookOf(repository).secret) }
        validate('with a space', await deliver({ hook: hookOf(repository).hook, raw: `${raw} `, headers }), [401])
      },
    },
    {
      name: 'mallory’s hook speaks of installations',
      async run() {
        for (const action of ['deleted', 'suspend', 'unsuspend']) {
          const payload = { action, installation: { id: 100, account: { login: 'acme' } } }
          validate(action, await deliver({ ...mine(), event: 'installation', payload }), [202, 400])
          validate(action, await deliver({ event: 'installation', payload }), [401])
        }
        const { body } = await request(owner, 'GET', '/gitprovider/status')
        if (!body.sources.app) wrong.push('the app was dropped on mallory’s word')
      },
    },
    {
      name: 'words that no host uses, well signed and not',
      async run() {
        const hostile: [string, object][] = [
          ['__proto__', push(theirs)],
          ['constructor', push(theirs)],
          ['push', push(theirs, { ref: 'refs/heads/a\0b' })],
          ['push', push(theirs, { ref: `refs/heads/${'x/'.repeat(50_000)}` })],
          ['push', push(theirs, { ref: 'refs/heads/--upload-pack=id' })],
          ['push', push(theirs, { ref: 'refs/heads/main', after: '--exec=id' })],
          ['push', push(theirs, { head_commit: { message: '\0\ud800', author: { name: 'x'.repeat(1e6) } } })],
          ['push', push('mal\0lory/app')],
          ['push', push('../../app')],
          ['push', push(theirs, { repository: { full_name: { toString: 'x' } } })],
          ['pull_request', { action: '__proto__', number: 1, repository: { id: 1, full_name: theirs }, pull_request: {} }],
          ['pull_request', opened({ number: 2 ** 40 })],
          ['pull_request', opened({ number: -1 })],
          ['pull_request', opened({ number: 1, title: '\0\u202E'.repeat(1000), head: { ref: 'a\nb', sha: commit() } })],
          ['x'.repeat(8000), push(theirs)],
        ]
        for (const [event, payload] of hostile) {
          validate(event, await deliver({ event, payload }), [401])
          validate(event, await deliver({ ...mine(), event, payload }), [202, 400])
        }
        for (const raw of [
          '',
          '[]',
          'null',
          '"x"',
          '{',
          `${'['.repeat(200_000)}`,
          `{"a":${'{"a":'.repeat(50_000)}1`,
          '\uFEFF{}',
        ]) {
          validate('no JSON', await deliver({ raw }), [400, 401])
          validate('no JSON', await deliver({ ...mine(), raw }), [400, 401])
        }
        const raw = gzipSync(JSON.stringify(push(theirs))) as Uint8Array<ArrayBuffer>
        validate('gzip', await deliver({ ...mine(), raw, headers: { 'content-encoding': 'gzip' } }), [400, 401, 415])
        validate('form', await deliver({ raw: 'payload=%7B%7D', headers: { 'content-type': 'text/plain' } }), [415])
      },
    },
    {
      name: '25 MB: signed, unsigned, one byte more',
      async run() {
        const max = 25 * 1024 * 1024
        const body = JSON.stringify(push(theirs, { ref: 'refs/heads/other', padding: '' }))
        const raw = body.replace('"padding":""', `"padding":"${'x'.repeat(max - body.length)}"`)
        const watch = watching(scene)
        validate('signed', await deliver({ ...mine(), raw }), [202, 429])
        validate('unsigned', await deliver({ raw }), [401, 429])
        validate('of an unknown hook', await deliver({ hook: 'gwh_unknown', raw }), [401, 429])
        const more = await deliver({ raw: `${raw} ` }).catch(() => null)
        if (more) validate('more', more, [413, 429])
        const slowest = await watch()
        if (slowest > 3_000) wrong.push(`during a delivery of 25 MB, an API request took ${Math.round(slowest)} ms`)
      },
    },
    {
      name: 'the app’s secret guessed by time and by length',
      run: async () => {
        for (let at = 1; at <= appSecret.length; at += 8)
          validate('a part of it', await deliver({ secret: appSecret.slice(0, at), payload: push(repository) }), [401])
      },
    },
    {
      name: 'a delivery about another branch of the attacker’s own repository',
      async run() {
        const before = await scene.deployments(mallory, own)
        validate('a tag', await deliver({ ...mine(), payload: push(theirs, { ref: 'refs/tags/main' }) }), [202])
        validate('gone', await deliver({ ...mine(), payload: push(theirs, { after: '0'.repeat(40) }) }), [202, 400])
        validate('other', await deliver({ ...mine(), payload: push(theirs, { ref: 'refs/heads/other' }) }), [202])
        if ((await scene.deployments(mallory, own)) !== before) wrong.push('a tag or another branch was deployed')
      },
    },
  ]

  function opened(more: object): object {
    const repo = { id: 1, full_name: theirs }
    const pull_request = { number: 1, title: 'x', head: { ref: 'x', sha: commit(), repo }, base: { ref: 'main', repo }, ...more }
    return { action: 'opened', repository: repo, pull_request }
  }
}

/** Sends API requests until the returned function is called, which resolves with the duration of the slowest. */
function watching({ request, owner }: AttackScene): () => Promise<number> {
  let isOver = false
  let slowest = 0
  const requests = (async () => {
    while (!isOver) {
      const begun = performance.now()
      await request(owner, 'GET', '/projects')
      slowest = Math.max(slowest, performance.now() - begun)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })()
  return async () => {
    isOver = true
    await requests
    return slowest
  }
}
