import type { ObjectKind } from '@berth/contract'
import type { InvitationRow, MemberRow, OrganizationRow, PasskeyRow, SessionRow, TokenRow } from '../platform/db/tables/access.ts'
import type { DestinationRow, PolicyRow, RestoreRow, RunRow } from '../platform/db/tables/backups.ts'
import type { DeployHookRow, DeploymentRow, VolumeRow } from '../platform/db/tables/deployments.ts'
import type { ChannelRow, DeliveryRow, SubscriptionRow } from '../platform/db/tables/notifications.ts'
import type {
  DomainRow,
  EnvironmentRow,
  LinkRow,
  ProjectRow,
  RouteRuleRow,
  UploadSessionRow,
} from '../platform/db/tables/projects.ts'
import type { RegistryLoginRow } from '../platform/db/tables/registries.ts'
import type { ServerRow } from '../platform/db/tables/servers.ts'
import type { CronJobRow, CronRunRow } from '../platform/db/tables/tasks.ts'

/** The object types that handlers receive, by the kind in the path. */
export interface LoadedObjects extends Record<ObjectKind, object> {
  project: ProjectRow
  savedProject: { id: string; projectId: string }
  environment: EnvironmentRow
  routeRule: RouteRuleRow
  domain: { projectId: string; project: ProjectRow; hostname: string; row: DomainRow | null }
  uploadSession: UploadSessionRow
  deployment: DeploymentRow
  volume: VolumeRow
  deployHook: DeployHookRow
  cronJob: CronJobRow
  cronRun: CronRunRow
  link: LinkRow
  channel: ChannelRow
  subscription: SubscriptionRow
  delivery: DeliveryRow
  backupDestination: DestinationRow
  backupPolicy: PolicyRow
  backupRun: RunRow
  backupRestore: RestoreRow
  server: ServerRow
  registryLogin: RegistryLoginRow
  token: TokenRow
  session: SessionRow
  passkey: PasskeyRow
  organization: OrganizationRow
  member: MemberRow
  invitation: InvitationRow
}
