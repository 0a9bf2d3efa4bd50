import type { Kysely } from 'kysely'
import { migration as jobs } from './001-jobs.ts'
import { migration as access } from './002-access.ts'
import { migration as projects } from './003-projects.ts'
import { migration as deployments } from './004-deployments.ts'
import { migration as edge } from './005-edge.ts'
import { migration as notifications } from './006-notifications.ts'
import { migration as accessLimits } from './007-access-limits.ts'
import { migration as domainClaims } from './008-domain-claims.ts'
import { migration as deploymentSecrets } from './009-deployment-secrets.ts'
import { migration as listeners } from './010-listeners.ts'
import { migration as places } from './011-places.ts'
import { migration as gitHost } from './012-git-host.ts'
import { migration as previews } from './013-previews.ts'
import { migration as backups } from './014-backups.ts'
import { migration as servers } from './015-servers.ts'
import { migration as cloud } from './016-cloud.ts'
import { migration as adopted } from './021-migration.ts'
import { migration as beforeDeploy } from './022-before-deploy.ts'
import { migration as transfers } from './023-transfers.ts'
import { migration as cloudMode } from './024-cloud-mode.ts'
import { migration as metrics } from './025-metrics.ts'
import { migration as deliverySubjects } from './026-delivery-subjects.ts'
import { migration as keptBackups } from './027-kept-backups.ts'
import { migration as adoptedOnce } from './028-adopted-once.ts'
import { migration as portChosen } from './029-port-chosen.ts'
import { migration as serviceRoutes } from './030-service-routes.ts'
import { migration as backupRecipients } from './031-backup-recipients.ts'
import { migration as uploadPlaces } from './032-upload-places.ts'
import { migration as repositoryNames } from './033-repository-names.ts'
import { migration as pullRequestTimes } from './034-pull-request-times.ts'
import { migration as jobsOfKind } from './035-jobs-of-kind.ts'
import { migration as projectOperations } from './036-project-operations.ts'
import { migration as newestSource } from './037-newest-source.ts'
import { migration as backupRecords } from './038-backup-records.ts'
import { migration as moves } from './039-moves.ts'
import { migration as userChannels } from './041-user-channels.ts'
import { migration as buildSettings } from './043-build-settings.ts'
import { migration as serviceStates } from './044-service-states.ts'
import { migration as composeProfiles } from './046-compose-profiles.ts'
import { migration as registries } from './047-registries.ts'
import { migration as imageChecks } from './048-image-checks.ts'
import { migration as detectedFields } from './049-detected-fields.ts'
import { migration as destinationAddresses } from './051-destination-addresses.ts'
import { migration as sharesAndClock } from './052-shares-and-clock.ts'
import { migration as invitationMails } from './053-invitation-mails.ts'
import { migration as assignedHostnames } from './054-assigned-hostnames.ts'
import { migration as gitApplications } from './055-git-applications.ts'
import { migration as machines } from './057-machines.ts'
import { migration as accounts } from './058-accounts.ts'
import { migration as tasks } from './059-tasks.ts'
import { migration as edgeState } from './060-edge-state.ts'
import { migration as projectLinks } from './062-project-links.ts'
import { migration as projectTemplates } from './066-project-templates.ts'
import { migration as domainAddresses } from './067-domain-addresses.ts'
import { migration as listIndexes } from './068-list-indexes.ts'
import { migration as instanceBackups } from './069-instance-backups.ts'
import { migration as requiredSecondFactor } from './070-required-second-factor.ts'
import { migration as passkeys } from './071-passkeys.ts'

export interface Migration {
  /** `NNN-topic`: the number orders the migrations, and the whole name is recorded. Never changed after a release. */
  name: string
  up(db: Kysely<unknown>): Promise<void>
}

/** Migrations in order. A released migration is never edited or removed; a change is a new migration. */
export const migrations: readonly Migration[] = [
  jobs,
  access,
  projects,
  deployments,
  edge,
  notifications,
  accessLimits,
  domainClaims,
  deploymentSecrets,
  listeners,
  places,
  gitHost,
  previews,
  backups,
  servers,
  cloud,
  adopted,
  beforeDeploy,
  transfers,
  cloudMode,
  metrics,
  deliverySubjects,
  keptBackups,
  adoptedOnce,
  portChosen,
  serviceRoutes,
  backupRecipients,
  uploadPlaces,
  repositoryNames,
  pullRequestTimes,
  jobsOfKind,
  projectOperations,
  newestSource,
  backupRecords,
  moves,
  userChannels,
  buildSettings,
  serviceStates,
  composeProfiles,
  registries,
  imageChecks,
  detectedFields,
  destinationAddresses,
  sharesAndClock,
  invitationMails,
  assignedHostnames,
  gitApplications,
  machines,
  accounts,
  tasks,
  edgeState,
  projectLinks,
  projectTemplates,
  domainAddresses,
  listIndexes,
  instanceBackups,
  requiredSecondFactor,
  passkeys,
]
