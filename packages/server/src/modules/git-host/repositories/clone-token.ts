import type { CloneToken } from '@berth/contract'
import { GitHostError } from '../../../drivers/git-host/git-host-error.ts'
import type { Caller } from '../../../http/handler.ts'
import { fail } from '../../../platform/failure.ts'
import { sourcesFor, throughSources, usableSources } from '../connections/through-sources.ts'
import { type GitHostDeps, nowOf } from '../deps.ts'
import { checkedName } from '../names.ts'
import { refuseHidden, type WantedRepository } from './repositories.ts'

/** Hosts issue tokens for an hour; the margin allows for clock skew. */
const maxLifetimeMs = 65 * 60_000

/**
 * Creates a read-only token for one repository, valid for less than an hour. Only an app can: no host can restrict an account's
 * token.
 */
export async function cloneToken(wanted: WantedRepository, caller: Caller, deps: GitHostDeps): Promise<CloneToken> {
  const name = checkedName(wanted.params)
  await refuseHidden(name, caller, deps)
  const all = await usableSources(caller.organizationId, wanted.provider, deps)
  const apps = sourcesFor(all, name.owner).filter(({ source }) => source === 'app')
  if (apps.length === 0)
    fail('no_app_installation', {
      message: `The git host app is not installed for ${name.owner}. Install it there, then try again.`,
    })
  return throughSources(apps, deps, async (access, host) => {
    const { token, username, expiresAt } = await host.repositoryToken(access, name)
    deps.scrubber.register(token)
    if (expiresAt === null || expiresAt.getTime() - nowOf(deps) >= maxLifetimeMs)
      fail('conflict', { message: 'The git host returned a token that is valid longer than an hour, which is not allowed' })
    const value = token.reveal()
    if (!/^[\w.~+/=-]+$/.test(value)) throw new GitHostError('invalidResponse', 'The git host returned an invalid token')
    const cloneUrl = `${host.webUrl}/${name.owner}/${name.repo}.git`
    return { token: value, cloneUrl, command: commandFor(cloneUrl, username, value) }
  })
}

/**
 * A shell command to paste. The token is an environment variable of that one command, not part of the URL or of the clone's
 * config.
 */
function commandFor(cloneUrl: string, username: string, token: string): string {
  const helper = `!f() { test "$1" = get && echo username=${username} && echo "password=$BERTH_CLONE_TOKEN"; }; f`
  return `BERTH_CLONE_TOKEN=${token} git -c credential.helper= -c credential.helper='${helper}' clone ${cloneUrl}`
}
