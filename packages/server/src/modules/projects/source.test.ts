import { describe, expect, test } from 'vitest'
import { nextSource, type SourceRow } from './source.ts'

const urls = { github: 'https://github.test', gitlab: 'https://gitlab.test', gitea: 'https://gitea.test' }
const none: SourceRow = {
  ...{ gitProvider: null, gitOwner: null, gitRepo: null, gitBranch: null, gitUrl: null },
  ...{ localPath: null, uploadSessionId: null, image: null, services: '[]' },
}
const git: SourceRow = { ...none, gitProvider: 'github', gitOwner: 'acme', gitRepo: 'shop', gitBranch: 'main' }
const projects = {
  none,
  git,
  upload: { ...none, gitProvider: 'upload', uploadSessionId: 'upl_project' },
  local: { ...none, gitProvider: 'local', localPath: '/srv/app' },
  image: { ...none, services: JSON.stringify([{ name: 'db', image: 'postgres' }]) },
}
const repository = { kind: 'git', url: 'https://github.test/acme/shop.git' }
const upload = (sessionId: string) => ({ kind: 'upload', sessionId })
const own = {
  none: undefined,
  git: { ...repository, branch: 'main' },
  upload: upload('upl_project'),
  local: { kind: 'local', path: '/srv/app' },
  image: { kind: 'image' },
}
const kinds = Object.keys(projects) as (keyof typeof projects)[]
const environment = (changes: object = {}) => ({
  ...{ slug: 'staging', branch: null, pullRequest: null, uploadSessionId: null },
  ...changes,
})
const next = (kind: keyof typeof projects, changes: object, ofProduction: string | null = null) =>
  nextSource(projects[kind], environment(changes), { uploadSessionId: ofProduction }, urls)

describe('the source that the next deployment of an environment builds', () => {
  test.each(kinds)('%s: the source of the project, if there was no upload', (kind) => {
    expect(next(kind, {})).toEqual(own[kind])
  })
  test.each(kinds)('%s: the upload of the environment has precedence over that of production and the project', (kind) => {
    expect(next(kind, { uploadSessionId: 'upl_own' }, 'upl_production')).toEqual(upload('upl_own'))
    expect(next(kind, { uploadSessionId: 'upl_own', branch: 'next' })).toEqual(upload('upl_own'))
  })
  test.each(kinds)('%s: an environment without a source uses that of production', (kind) => {
    expect(next(kind, {}, 'upl_production')).toEqual(upload('upl_production'))
  })
  test('an environment with a branch of the repository has its own source', () => {
    expect(next('git', { branch: 'next' }, 'upl_production')).toEqual({ ...repository, branch: 'next' })
    expect(next('git', { pullRequest: 7 }, 'upl_production')).toEqual({ ...repository, branch: 'main' })
    expect(next('upload', { branch: 'next' }, 'upl_production')).toEqual(upload('upl_production'))
  })
})
