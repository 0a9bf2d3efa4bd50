import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { getPage } from '../../../tests/kit/hosting.ts'
import { type Attack, type AttackScene, app, production, repository } from './scene.ts'

const run = promisify(execFile)
let number = 100

/** A fork's pull request that tries to read the secrets of production, or to be built without approval. */
export function forkAttacks(scene: AttackScene): Attack[] {
  const { deliver, validate, hookOf, request, wrong, owner, mallory, shop, host, hosting } = scene
  const on = (who: typeof owner, method: string, path: string, body?: object) =>
    request(who, method, `/projects/${shop.id}${path}`, body ? { body } : {})
  const base = { id: 1, full_name: repository }
  const notify = (action: string, sha: string, head: object, at = new Date()) =>
    deliver({
      ...hookOf(repository),
      event: 'pull_request',
      payload: {
        ...{ action, number, repository: base },
        pull_request: {
          ...{ number, title: 'Give me', user: { login: 'mallory' }, updated_at: at.toISOString() },
          ...{ head: { ref: 'give', sha, ...head }, base: { ref: 'main', repo: base } },
        },
      },
    })
  const known = async () =>
    (await on(owner, 'GET', '/pull-requests')).body.data.find((one: { number: number }) => one.number === number)
  const until = async (isSo: () => Promise<boolean>, what: string) => {
    for (const end = Date.now() + 60_000; !(await isSo()); await pause(200))
      if (Date.now() > end) return wrong.push(`did not happen within 60 s: ${what}`)
  }
  const close = async (sha: string, head: object) => {
    await notify('closed', sha, head)
    await until(async () => {
      const { body } = await on(owner, 'GET', '/environments')
      return !body.data.some(({ slug }: { slug: string }) => slug === `pr-${number}`)
    }, `the preview pr-${number} is gone`)
  }
  const fork = { repo: { id: 2, full_name: 'mallory/shop' } }
  const heads: Record<string, object> = {
    'of a fork': fork,
    'of a fork that is gone': { repo: null },
    'that names no repository': {},
    'whose fork has the victim’s name': { repo: { id: 2, full_name: repository } },
    'whose fork’s id is a word': { repo: { id: '1', full_name: repository } },
  }
  return [
    ...Object.entries(heads).map(([name, head]) => ({
      name: `a pull request ${name} is not built, whichever other user approves it`,
      async run() {
        number += 1
        const sha = await host.git.commit(repository, app(`fork ${number}`), { branch: `give-${number}` })
        validate('opened', await notify('opened', sha, head), [202])
        await until(async () => (await known())?.state === 'waiting', `the pull request ${name} waits`)
        const path = `/pull-requests/${number}/approve`
        validate('approved by mallory', await on(mallory, 'POST', path), [404])
        validate('approved without a token', await request(null, 'POST', `/projects/${shop.id}${path}`), [401])
        validate('another commit', await on(owner, 'POST', path, { commit: 'b'.repeat(40) }), [409])
        validate('no number', await on(owner, 'POST', '/pull-requests/1e9/approve'), [404])
        const { body } = await on(owner, 'GET', '/environments')
        if (body.data.some(({ slug }: { slug: string }) => slug === `pr-${number}`)) wrong.push(`${name}: it has an environment`)
        await close(sha, head)
      },
    })),
    {
      name: 'an approved fork sees nothing of production, and what it pushes next is asked about again',
      async run() {
        number += 1
        const sha = await host.git.commit(repository, app(`approved ${number}`), { branch: `give-${number}` })
        await notify('opened', sha, fork)
        await until(async () => (await known())?.state === 'waiting', 'it waits')
        // The git host stores a pull request's commits under this ref.
        await run('git', ['-C', host.git.folderOf(repository), 'update-ref', `refs/pull/${number}/head`, sha])
        validate('approved', await on(owner, 'POST', `/pull-requests/${number}/approve`, { commit: sha }), [202])
        const check = () => getPage(hosting.berth.edgeUrl, `pr-${number}.${shop.slug}.localhost`, '/').catch(() => null)
        await until(async () => (await check())?.text.startsWith('approved') ?? false, 'the approved preview serves')
        const text = (await check())?.text ?? ''
        if (text.includes(production) || text.includes('"SECRET"')) wrong.push(`a fork saw production's variables: ${text}`)
        const next = await host.git.commit(repository, app(`sneaked ${number}`), { branch: `give-${number}` })
        await notify('synchronize', next, fork)
        await until(async () => (await known())?.state === 'waiting', 'its next commit waits')
        await notify('opened', sha, fork, new Date(Date.now() - 3_600_000))
        await close(next, fork)
      },
    },
    {
      name: 'a closed pull request is opened again by an old delivery',
      async run() {
        number += 1
        const sha = await host.git.commit(repository, app(`own ${number}`), { branch: `own-${number}` })
        const head = { repo: base }
        const anHourAgo = new Date(Date.now() - 3_600_000)
        await notify('opened', sha, head, anHourAgo)
        await until(async () => (await known())?.state === 'active', 'it is active')
        await close(sha, head)
        await notify('opened', sha, head, anHourAgo)
        await pause(1_000)
        if ((await known()).state !== 'closed') wrong.push('an old delivery opened a closed pull request again')
      },
    },
  ]
}
