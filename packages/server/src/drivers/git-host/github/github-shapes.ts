import { invalidResponse, timeFrom, webAddress } from '../answer-parts.ts'
import type { HostAccount, HostBranch, HostFileEntry, HostHook, HostRepository } from '../git-host.ts'
import { cleanText, Fields, parseRepositoryName } from '../payload.ts'

/** Converts responses of GitHub to the common form. A response of another shape is an error, never a partial result. */

export function accountFrom(value: unknown, title: string): HostAccount {
  const fields = new Fields(value)
  const [id, login] = [fields.integer('id'), fields.text('login')]
  if (id === null || !login) return invalidResponse(title, 'an account')
  const type = fields.text('type') === 'Organization' ? 'organization' : 'user'
  return { id: String(id), login, type, avatarUrl: webAddress(fields.text('avatar_url')) }
}

export function repositoryFrom(value: unknown, title: string, webUrl: string): HostRepository {
  const fields = new Fields(value)
  const [id, fullName] = [fields.integer('id'), fields.text('full_name')]
  const name = parseRepositoryName(fullName)
  if (id === null || !fullName || !name) return invalidResponse(title, 'a repository')
  return {
    id: String(id),
    name: name.repo,
    fullName,
    owner: name.owner,
    private: fields.isTrue('private'),
    description: fields.text('description'),
    defaultBranch: fields.text('default_branch'),
    language: fields.text('language'),
    htmlUrl: `${webUrl}/${fullName}`,
    cloneUrl: `${webUrl}/${fullName}.git`,
    sshUrl: `git@${new URL(webUrl).hostname}:${fullName}.git`,
    updatedAt: timeFrom(fields.text('pushed_at') ?? fields.text('updated_at')),
  }
}

export function branchFrom(value: unknown, title: string): HostBranch {
  const fields = new Fields(value)
  const [name, commit] = [fields.text('name'), fields.in('commit').text('sha')]
  if (!name || !commit) return invalidResponse(title, 'a branch')
  return { name, commit, protected: fields.isTrue('protected') }
}

const entryTypes = { file: 'file', dir: 'dir', symlink: 'symlink', submodule: 'submodule' } as const

export function entryFrom(value: unknown, title: string): HostFileEntry {
  const fields = new Fields(value)
  const [name, path, type] = [fields.text('name'), fields.text('path'), fields.text('type') ?? '']
  if (!name || !path || !Object.hasOwn(entryTypes, type)) return invalidResponse(title, 'a folder')
  const known = entryTypes[type as keyof typeof entryTypes]
  return { name, path, type: known, sizeBytes: known === 'file' ? fields.integer('size') : null }
}

export function hookFrom(value: unknown, title: string): HostHook {
  const fields = new Fields(value)
  const id = fields.integer('id')
  if (id === null) return invalidResponse(title, 'a hook')
  const events = (value as { events?: unknown }).events
  return {
    id,
    url: fields.in('config').text('url') ?? '',
    events: Array.isArray(events) ? events.filter((event) => typeof event === 'string') : [],
    active: fields.isTrue('active'),
    failure: failureOf(fields.in('last_response')),
    createdAt: timeFrom(fields.text('created_at')),
    updatedAt: timeFrom(fields.text('updated_at')),
  }
}

/** GitHub reports the last delivery with the status of its response; null while there was none. */
function failureOf(response: Fields): string | null {
  const code = response.integer('code')
  const message = cleanText(response.text('message'), 200)
  if (code === null ? response.text('status') !== 'failed' : code >= 200 && code < 400) return null
  return ['The last delivery failed', code, message].filter((part) => part !== null && part !== '').join(': ')
}
