import { invalidResponse, timeFrom, webAddress } from '../answer-parts.ts'
import type { HostAccount, HostBranch, HostFileEntry, HostHook, HostRepository } from '../git-host.ts'
import { Fields, parseRepositoryName } from '../payload.ts'

export function accountFrom(value: unknown, title: string): HostAccount {
  const fields = new Fields(value)
  const [id, login] = [fields.integer('id'), fields.text('username')]
  if (id === null || !login) return invalidResponse(title, 'an account')
  return { id: String(id), login, type: 'user', avatarUrl: webAddress(fields.text('avatar_url')) }
}

export function repositoryFrom(value: unknown, title: string, webUrl: string): HostRepository {
  const fields = new Fields(value)
  const [id, fullName] = [fields.integer('id'), fields.text('path_with_namespace')]
  const name = parseRepositoryName(fullName)
  if (id === null || !fullName || !name) return invalidResponse(title, 'a project')
  return {
    id: String(id),
    name: name.repo,
    fullName,
    owner: name.owner,
    private: fields.text('visibility') !== 'public',
    description: fields.text('description') || null,
    defaultBranch: fields.text('default_branch'),
    language: null,
    htmlUrl: `${webUrl}/${fullName}`,
    cloneUrl: `${webUrl}/${fullName}.git`,
    sshUrl: `git@${new URL(webUrl).hostname}:${fullName}.git`,
    updatedAt: timeFrom(fields.text('last_activity_at')),
  }
}

export function branchFrom(value: unknown, title: string): HostBranch {
  const fields = new Fields(value)
  const [name, commit] = [fields.text('name'), fields.in('commit').text('id')]
  if (!name || !commit) return invalidResponse(title, 'a branch')
  return { name, commit, protected: fields.isTrue('protected') }
}

/** A GitLab tree contains no sizes. */
export function entryFrom(value: unknown, title: string): HostFileEntry {
  const fields = new Fields(value)
  const [name, path, type] = [fields.text('name'), fields.text('path'), fields.text('type')]
  if (!name || !path) return invalidResponse(title, 'a folder')
  const isLink = fields.text('mode') === '120000'
  return {
    name,
    path,
    type: type === 'tree' ? 'dir' : type === 'commit' ? 'submodule' : isLink ? 'symlink' : 'file',
    sizeBytes: null,
  }
}

const eventNames = {
  push_events: 'push',
  merge_requests_events: 'merge_request',
  tag_push_events: 'tag_push',
  issues_events: 'issues',
}

export function hookFrom(value: unknown, title: string): HostHook {
  const fields = new Fields(value)
  const id = fields.integer('id')
  if (id === null) return invalidResponse(title, 'a hook')
  return {
    id,
    url: fields.text('url') ?? '',
    events: Object.entries(eventNames).flatMap(([field, name]) => (fields.isTrue(field) ? [name] : [])),
    // GitLab disables a webhook that fails repeatedly, temporarily or permanently.
    active: !fields.has('disabled_until') && fields.text('alert_status') !== 'disabled',
    failure:
      (fields.text('alert_status') ?? 'executable') === 'executable'
        ? null
        : 'GitLab has disabled the webhook after failed deliveries',
    createdAt: timeFrom(fields.text('created_at')),
    updatedAt: null,
  }
}
