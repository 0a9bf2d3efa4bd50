// Faults of one line, each with the test files that must notice it. A file is found by its name and the text in it, so that a
// mutation survives when either moves. `tests` are parts of file names, `named` is a part of a test's title, `project` is Vitest's.
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { dockerMutations } from './mutations-docker.mjs'
import { postgresMutations } from './mutations-postgres.mjs'

const unit = (name, file, search, replace, ...tests) => ({ name, file, search, replace, project: 'unit*', tests })
const api = (name, file, search, replace, ...tests) => ({ name, file, search, replace, project: 'api-sqlite', tests })

export const mutations = [
  // Shared commits.
  unit(
    'a write is answered before its commit',
    'shared-commits.ts',
    'return group.ended.promise\n',
    'return Promise.resolve()\n',
    'db/shared-commits.test.ts',
  ),
  unit(
    'a failing transaction leaves what it wrote in the shared commit',
    'shared-commits.ts',
    'this.#writer.run(rollbackToSavepoint, [])',
    '',
    'db/shared-commits.test.ts',
  ),
  unit(
    'each write has a commit of its own',
    'shared-commits.ts',
    'group.members >= maxMembers ||',
    'group.members >= 1 ||',
    'db/shared-commits.test.ts',
  ),
  // Modules.
  api(
    'the deployments of an organisation are read and sorted as a whole',
    'store.ts',
    '(found ? pageOfDeployments : pageOfOrganization)(db',
    'pageOfDeployments(db',
    'query-plans.test.ts',
  ),
  api(
    'the feed is not read along its index',
    'feed-store.ts',
    "sql<boolean>`deliveries.\"channelKind\" = 'in_app' and deliveries.status = 'sent'`",
    "sql<boolean>`lower(deliveries.\"channelKind\") = 'in_app' and deliveries.status = 'sent'`",
    'query-plans.test.ts',
  ),
  api(
    'deployments of an earlier worker are not listed',
    'store.ts',
    '(found ? pageOfDeployments : pageOfOrganization)(db',
    'pageOfOrganization(db',
    'deployments/earlier-version.test.ts',
  ),
  unit(
    'an API process migrates the database',
    'migrate.ts',
    'if (wait) return await waitUntilMigrated(db, migrations, log)',
    '',
    'database.test.ts',
  ),
  unit(
    'a refused machine migrates the database',
    'migrate.ts',
    'if (check && applied.length > 0 && applied.length < migrations.length) await check(root)',
    '',
    'database.test.ts',
  ),
  api(
    'a backup run leaves a terminal state',
    'run-store.ts',
    ".where('status', 'in', sourcesOf(runTransitions, to))",
    '',
    'backups/runs.test.ts',
  ),
  api(
    'any token applies a restore',
    'apply.ts',
    'restore.tokenHash === null || !constantTimeEqual(restore.tokenHash, hashToken(confirmationToken))',
    'restore.tokenHash === null',
    'backups/restores.test.ts',
  ),
  api(
    'a run succeeds without being read back',
    'perform-run.ts',
    'await readBack(work, artifacts, manifest)',
    '',
    'backups/runs.test.ts',
  ),
  api(
    'a failed restore does not put the previous data back',
    'apply-job.ts',
    'await withArchive(safety, deps, abort, (opened) => writeBack(restore, opened, deps, abort))',
    '',
    'backups/restores.test.ts',
  ),
  api(
    'pruning removes stored data that a later run uses',
    'prune.ts',
    '.filter((name) => !usedNames.has(name))',
    '',
    'backups/runs.test.ts',
  ),
  api(
    'the guard accepts any scope',
    'guard.ts',
    'caller.scopes && !caller.scopes.has(tag)',
    'caller.scopes?.size === 0',
    'all-routes.test.ts',
  ),
  api(
    'the guard ignores that a token is limited to projects',
    'guard.ts',
    'if (caller.projectIds && !allowsProjectTokens(row)) refuseLimited()',
    '',
    'objects-of-others.test.ts',
  ),
  api(
    'the guard lets a user with read access write',
    'guard.ts',
    'if (!isLevelAtLeast(level, needed))',
    "if (!isLevelAtLeast(level, 'read'))",
    'projects/change.test.ts',
  ),
  api(
    'a deployment leaves a terminal state',
    'store.ts',
    ".where('status', 'in', sourcesOf(deploymentTransitions, to))",
    '',
    'deployments/routes.test.ts',
  ),
  api(
    'a secret variable is shown',
    'env.ts',
    'row.isSecret ? secretMask : openValue(row, deps)',
    'openValue(row, deps)',
    'projects/env.test.ts',
  ),
  api('the mask is stored as a value', 'env.ts', 'if (value !== secretMask)', "if (value !== '')", 'projects/env.test.ts'),
  api(
    'a secret field is written into the audit log',
    'redact.ts',
    "if (writeOnly) return value === null ? null : '[secret]'",
    'if (writeOnly) return value',
    'access/organizations.test.ts',
  ),
  api(
    'the entries of the audit log are not chained',
    'audit-log.ts',
    'previousHash: last?.hash ?? firstHash',
    'previousHash: firstHash',
    'access/organizations.test.ts',
  ),
  unit(
    'a signature does not cover the time',
    'webhook-signature.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a piece of source
    'update(`${t}.${body}`)',
    'update(body)',
    'kinds/webhook.test.ts',
  ),
  unit(
    'a stream sends a status older than the last one',
    'row-stream.ts',
    'isSame(to, lastSent) || to.at < lastSent.at',
    'isSame(to, lastSent)',
    'row-stream.test.ts',
  ),
  unit(
    'a certificate in use is ordered again',
    'states.ts',
    "active: ['error', 'none']",
    "active: ['error', 'none', 'pending']",
    'states.test.ts',
  ),
  unit(
    "a module reads another one's table",
    'renewal.ts',
    'claimedHostnames(db)',
    "(eb) => eb.selectFrom('domains').select('hostname')",
    'table-owners.test.ts',
  ),
  unit(
    'an environment that was stopped meanwhile is woken',
    'live-environments.ts',
    ".where('state', 'in', from ? allowed.filter((state) => from.includes(state)) : sourcesOf(environmentTransitions, to))",
    '',
    'live-environments.test.ts',
  ),
  // The platform below the modules.
  unit(
    'a valid lease counts as expired',
    'lease.ts',
    "query.where('leaseUntil', '<', databaseNow(kind))",
    "query.where('leaseUntil', '>', databaseNow(kind))",
    'job-runner/recovery.test.ts',
  ),
  unit('an attempt is not counted', 'claim.ts', "eb('attempts', '+', 1)", "eb('attempts', '+', 0)", 'job-runner/jobs.test.ts'),
  unit(
    'an organisation takes the last slot of a job kind',
    'shares.ts',
    'job.concurrency - 1 : job.concurrency',
    'job.concurrency : job.concurrency',
    'job-runner/shares.test.ts',
  ),
  unit(
    'a failed job is not retried',
    'attempt.ts',
    'if (row.attempts >= job.maxAttempts) return await',
    'if (row.attempts >= 1) return await',
    'job-runner/jobs.test.ts',
  ),
  unit(
    'schedules stay in the future after a clock was ahead',
    'after-jump.ts',
    'nextRunAt < row.nextRunAt &&',
    'nextRunAt > row.nextRunAt &&',
    'job-runner/clock-jumps.test.ts',
  ),
  unit(
    'a schedule ignores its time zone',
    'occurrences.ts',
    "timezone: timezone ?? 'UTC'",
    "timezone: 'UTC'",
    'jobs/schedules.test.ts',
  ),
  unit(
    'a resumed log repeats its last line',
    'segment-reader.ts',
    'id <= after ||',
    'id < after ||',
    'log-store/log-store.test.ts',
    'log-store/follow.test.ts',
  ),
  unit(
    'a tail reads its whole log',
    'log-stream.ts',
    'if (newestFirst.push(entry) >= limit) break',
    'if (newestFirst.length < limit) newestFirst.push(entry)',
    'log-store/many-lines.test.ts',
  ),
  unit(
    'a secret in a URL is not found',
    'scrubber.ts',
    'forms.push(encodeURIComponent(value))',
    'forms.push(value)',
    'secrets/scrubber.test.ts',
  ),
  api(
    'a wrong password signs in',
    'password.ts',
    'return isEqual && stored !== null',
    'return stored !== null',
    'access/sign-in.test.ts',
  ),
  unit(
    'an undeclared field is sent',
    'serialize.ts',
    'const serialize = compile(unionsToNullable(schema))',
    'const serialize: Serialize = (value) => JSON.stringify(value)',
    'http/serialize.test.ts',
  ),
  unit(
    'a project is unhealthy after one failed check',
    'watch.ts',
    'return count >= failuresBeforeAlarm &&',
    'return count >= 1 &&',
    'watch/watch.test.ts',
  ),
  unit(
    'the password of an unknown user is rejected without hashing',
    'password.ts',
    'parse(stored ?? unknownUserHash)',
    "stored === null ? { work: { cost: 2, blockSize: 1, parallelization: 1 }, salt: Buffer.from('A'), hash: Buffer.alloc(32) } : parse(stored)",
    'secrets/password.test.ts',
  ),
  unit(
    'detection walks into skipped folders',
    'inventory.ts',
    'skippedFolders.has(entry.name) &&',
    'entry.name === entry.parentPath &&',
    'detection/folder.test.ts',
  ),
  unit(
    'detection lists its folders twice',
    'inventory.ts',
    'const listings = await Promise.all(paths.map((path) => list(root, path)))',
    'await Promise.all(paths.map((path) => list(root, path)))\n      const listings = await Promise.all(paths.map((path) => list(root, path)))',
    'detection/speed.test.ts',
  ),
  unit(
    'Compose: only `true` enables a refused field',
    'refused-fields.ts',
    'if (mayBeOn(value) && !isEmpty)',
    'if (value === true && !isEmpty)',
    'compose/refusals.test.ts',
    'compose/hostile-values.test.ts',
  ),
  unit(
    'Compose: the IPC namespace of the host is allowed',
    'refused-fields.ts',
    "['private', 'shareable']",
    "['private', 'shareable', 'host']",
    'compose/refusals.test.ts',
    'compose/hostile-values.test.ts',
  ),
  // Drivers.
  unit(
    'a tarball may contain a link to a path outside',
    'archive-tree.ts',
    "if (folder === '') return true",
    "if (at === '') continue",
    'tarball.test.ts',
  ),
  api(
    'a tarball is decompressed beyond its limit',
    'read-tarball.ts',
    'this.#bytes > this.#limits.maxDecompressedBytes ? this.#tooLarge() : null',
    'null',
    'projects/uploads.test.ts',
  ),
  unit(
    'a cloud metadata address counts as public',
    'address-reach.ts',
    "'168.63.129.16', // Azure",
    '// Azure',
    'web-request/address-reach.test.ts',
  ),
  unit(
    'a folder outside the roots is allowed',
    'allowed-folder.ts',
    'if (!isAllowed(real)) throw new FolderOutside(path)',
    '',
    'folder/allowed-folder.test.ts',
  ),
  unit(
    'a build in the run image copies its result into the same image again',
    'recipe-for.ts',
    'images.build === images.run ? [] : ',
    '',
    'build/recipe-for.test.ts',
  ),
  api(
    'a user writes to the input of another user’s program',
    'open-execs.ts',
    ' && exec.userId === userId',
    '',
    'deployments/exec.test.ts',
  ),
  api(
    'a program inside a project is not in the audit log',
    'run.ts',
    'await request.state.record?.appendNow()',
    '',
    'deployments/exec.test.ts',
  ),
  api(
    'the audit entry of a write is not in its transaction',
    'transaction.ts',
    'await recordedTransaction?.beforeCommit(context)',
    '',
    'tests/recorded-writes.test.ts',
  ),
  api(
    'a later claim takes an unproven domain offline',
    'domain-proofs.ts',
    'return sameNameClaims.filter((claim) => !foreignParent(claim, owners)).toSorted(byAge)[0]',
    'return sameNameClaims.length > 1 ? undefined : sameNameClaims.filter((claim) => !foreignParent(claim, owners)).toSorted(byAge)[0]',
    'projects/domain-proof.test.ts',
  ),
  api(
    'the inviter on a cloud with a mail server receives the code',
    'invitations.ts',
    'deps.isCloud === true && mailer?.configured === true',
    'false',
    'access/invitation-mails.test.ts',
  ),
  api(
    'a user whose default organisation was deleted cannot sign in',
    'sign-in.ts',
    'chosen ?? (user && (await firstMembership(db, user.id)))',
    'chosen',
    'access/organizations.test.ts',
  ),
  api(
    'a user who is no operator adopts a mounted system folder',
    'adopt.ts',
    'if (mounted.length > 0 && !(await deps.isOperator(caller)))',
    'if (mounted.length < 0)',
    'tests/migration/migration.test.ts',
  ),
  api(
    'a program continues after its client disconnected',
    'run-exec.ts',
    'AbortSignal.any([stream.abort, timeLimit, outputLimit.signal])',
    'AbortSignal.any([timeLimit, outputLimit.signal])',
    'deployments/exec.test.ts',
  ),
  unit(
    'a visitor’s path segment adds further segments',
    'match-rules.ts',
    "steps.map(encodeURIComponent).join('/')",
    "steps.join('/')",
    'site-rules/site-rules.test.ts',
  ),
  // The proxy.
  unit(
    'the edge accepts a content length with a transfer encoding',
    'request-head.ts',
    ' || (seen.lengths && seen.encodings)',
    '',
    'message/request-head.test.ts',
  ),
  unit('the edge accepts a bare LF', 'header-name.ts', ']+\\r\\n)+$/', ']+\\r?\\n)+$/', 'message/request-head.test.ts'),
  unit(
    'a rule in dry run refuses requests',
    'rules.ts',
    'if (!rule.dryRun) return refusal',
    'return refusal',
    'routing/rules.test.ts',
  ),
  unit('a rule applies after its end', 'rules.ts', 'now < expiresAt &&', 'now < expiresAt + 1e12 &&', 'routing/rules.test.ts'),
  unit(
    'a rate limit ignores the previous window',
    'rate-limit.ts',
    'usage.used + previousShare < this.#requests',
    'usage.used < this.#requests + 0 * previousShare',
    'limits/rate-limit.test.ts',
  ),
  unit(
    'a drain does not wait for open requests',
    'upstream.ts',
    'this.inFlight += 1',
    'this.inFlight += 0',
    'edge-proxy/edge-switch.test.ts',
  ),
  // Upgrades.
  unit(
    'an upgrade migrates without recording it',
    'run-upgrade.ts',
    "await step('migrate', () => effects.migrate())",
    'await effects.migrate()',
    'upgrade/run-upgrade.test.ts',
  ),
  unit(
    'a killed migration keeps the new schema',
    'run-upgrade.ts',
    "record.state !== 'migrate' && ",
    '',
    'upgrade/run-upgrade.test.ts',
  ),
  unit(
    'a failed upgrade leaves its version pointer',
    'run-upgrade.ts',
    'if (store.pointedVersion() === to) store.removePointer()',
    '',
    'upgrade/run-upgrade.test.ts',
  ),
  unit(
    'a full disk prevents the previous version from starting',
    'run-upgrade.ts',
    'ignoreErrors(() => begin(state, { error }))',
    'begin(state, { error })',
    'upgrade/run-upgrade.test.ts',
  ),
  unit('any package is installed', 'read-package.ts', 'if (name !== packageName)', 'if (false)', 'upgrade/read-package.test.ts'),
  unit(
    'a restored database gets the log of the replaced one',
    'database-copy.ts',
    "['-wal', '-shm'].map",
    '[].map',
    'upgrade/database-steps.test.ts',
  ),
  // Control planes that are killed at every step.
  {
    ...api(
      'a run that continues after a kill leaves the service frozen',
      'perform-run.ts',
      "if (run.postCommandState === 'due') await runPostCommand(run, settings, deps, abort)",
      '',
      'backups/killed.test.ts',
    ),
    named: 'every step of a run:',
  },
  {
    ...api(
      'a run that continues after a kill keeps what its first attempt stored',
      'perform-run.ts',
      'if (attempt !== null) await removeAll(store, folderOf(run), abort)',
      '',
      'backups/killed.test.ts',
    ),
    named: 'every step of a run:',
  },
  api(
    'the operations of a dead process are never removed',
    'sweep-operations.ts',
    'await deleteExpired(deps.database.db, nowOf(deps))',
    'deps',
    'projects/operations-killed.test.ts',
  ),
  ...postgresMutations,
  ...dockerMutations,
]

/**
 * Finds where a mutation applies. A mutation without exactly one place would be mistaken for a missed or a caught one: it is an
 * error.
 */
export function locationOf({ name, file, search }, paths) {
  const found = paths
    .filter((path) => basename(path) === file)
    .map((path) => ({ path, text: readFileSync(path, 'utf8') }))
    .filter(({ text }) => text.includes(search))
  if (found.length !== 1 || found[0].text.split(search).length !== 2)
    throw new Error(
      `"${name}": ${JSON.stringify(search)} is not exactly once in a ${file}; the source changed, change the mutation too`,
    )
  return found[0]
}
