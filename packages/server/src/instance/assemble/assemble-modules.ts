import { join } from 'node:path'
import type { ModuleName } from '@berth/contract'
import { createCloudApi } from '../../drivers/cloud-api/http-cloud-api.ts'
import { createNameServers } from '../../drivers/dns/name-servers.ts'
import { createGit, type Git } from '../../drivers/git/git.ts'
import { publicAddresses } from '../../drivers/git/public-addresses.ts'
import { clockOffset } from '../../drivers/machine/clock-offset.ts'
import { createMachineReader, type MachineReader } from '../../drivers/machine/machine-reader.ts'
import { folderReader } from '../../drivers/reader/folder-reader.ts'
import { createImageRegistry, type ImageRegistry } from '../../drivers/registry/image-registry.ts'
import { createServerReader } from '../../drivers/runtime/server/read-server.ts'
import { createRunCommand } from '../../drivers/shell/run-command.ts'
import { s3UploadStore } from '../../drivers/upload-store/s3-upload-store.ts'
import type { UploadStore } from '../../drivers/upload-store/upload-store.ts'
import { publicNames, type Resolve } from '../../drivers/web-request/resolve.ts'
import { createWebRequest } from '../../drivers/web-request/web-request.ts'
import { createInstance, type InstanceFacts } from '../../http/health.ts'
import type { RateLimiter } from '../../http/rate-limit.ts'
import { createAccess } from '../../modules/access/index.ts'
import { type CloudDeps, createCloud } from '../../modules/cloud/index.ts'
import { listServerUses } from '../../modules/deployments/index.ts'
import { createGitHost } from '../../modules/git-host/index.ts'
import { createMigration } from '../../modules/migration/index.ts'
import { createDeliveryDrivers, createNotifications, type NotificationsDeps } from '../../modules/notifications/index.ts'
import { createProjects, ownedProjects, type ProjectPorts, projectsOnServer } from '../../modules/projects/index.ts'
import { createRegistries } from '../../modules/registries/index.ts'
import type { EdgeDeps } from '../../modules/routing/index.ts'
import { createServers, type ServerPorts, type ServersDeps } from '../../modules/servers/index.ts'
import { fail } from '../../platform/failure.ts'
import { createLogStore, type LogStore } from '../../platform/log-store/log-store.ts'
import { machineProblems } from '../../platform/machines/machine-problems.ts'
import { createInstanceArchive } from '../backup/open-archive.ts'
import type { Config } from '../config/config.ts'
import { allowedRegistries } from '../drivers/choose-runtime.ts'
import { limitReader } from '../drivers/driver-limits.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { createGitHosts } from '../drivers/git-hosts.ts'
import type { Logger } from '../logger.ts'
import { createVersionCheck } from '../upgrade/version-check.ts'
import { assembleRunning } from './assemble-running.ts'
import type { Common, Module, Parts } from './parts.ts'
import type { WorkerView } from './worker-view.ts'

/** Tests that assemble an instance without `serve` claim no machine. */
const testMachineId = 'mch_test'

export interface ModuleInputs {
  common: Common
  limiter: RateLimiter
  /** Drivers with their time limits; absent if this instance deploys and serves nothing. */
  drivers: Drivers | undefined
  isolation: InstanceFacts['isolation']
  /** See `AccessDeps`. */
  isSingleUser: boolean
  /** Address of this control plane, for the edge. */
  control: EdgeDeps['control']
  /** Set in an API process. */
  worker: WorkerView | undefined
}

/** Creates the modules from the lowest to the highest, each with the modules below it as dependencies. */
export function assembleModules(parts: Parts, inputs: ModuleInputs) {
  const { common, limiter, drivers, isolation, isSingleUser, control, worker } = inputs
  const { config, version } = parts
  const { db } = common.database
  const ownedAnywhere = async (organizationId: string, ids: readonly string[]): Promise<ReadonlySet<string>> => {
    const local = await ownedProjects(db, organizationId, ids)
    if (ids.every((id) => local.has(id)) || !projectPorts.cloud) return local
    const { linked, reachable, projects } = await projectPorts.cloud.list({ organizationId, projectIds: new Set(ids) })
    if (linked && !reachable) fail('cloud_unreachable')
    return new Set([...local, ...projects.map(({ id }) => id)])
  }
  const delivery = parts.deliveryDrivers ?? createDeliveryDrivers(config)
  const access = createAccess({
    ...common,
    limiter,
    isSingleUser,
    ownedProjects: ownedAnywhere,
    mailer: delivery.mailer,
    isCloud: config.mode === 'cloud',
    organizationsEach: config.quotas.organizations,
    quotasOf: (organizationId) => projects.quotas.show(organizationId),
    ...(config.mode === 'cloud' ? { signUp: { mode: config.signUp, perHour: config.signUpsPerHour } } : {}),
  })
  const { streamTokens, roleOf, grants } = access
  const { isOperator, grantedLevel } = access.authenticator
  const projectPorts: ProjectPorts = { ...parts.projectPorts }
  const git = parts.git ?? gitOf(config, parts.resolve)
  const dns = parts.dns ?? createNameServers({ servers: config.dnsServers })
  const logStore = parts.logStore ?? logStoreOf(config, common.log)
  const uploadStore = parts.uploadStore ?? uploadStoreOf(config, common.log)
  const projects = createProjects({
    ...{ ...common, streamTokens, roleOf, grants, git, dns, logStore, uploadStore, projectPorts },
    settings: { ...config, hostUrls: () => gitHost.hostUrls() },
  })
  const cloudApi = parts.cloudApi ?? createCloudApi()
  const transferPorts: CloudDeps['transferPorts'] = {}
  const retryLimits = parts.retryLimits ?? { giveUpMs: 60_000, pollMs: 300 }
  const cloud =
    config.mode === 'self-hosted'
      ? createCloud({
          ...common,
          uploads: projects.forwardableUploads,
          api: cloudApi,
          transferPorts,
          pollMs: retryLimits.pollMs,
          isOperator,
        })
      : undefined
  if (cloud) projectPorts.cloud ??= cloud.projects
  const registries = createRegistries({ ...common, settings: { registries: allowedRegistries(config) } })
  const serverPorts: ServerPorts = {}
  const readerOf = parts.serverReader
  const servers = drivers && assembleServers(drivers, { ...common, isOperator, settings: config, ports: serverPorts, readerOf })
  if (servers) projectPorts.servers ??= servers.directory
  const migration =
    drivers && servers && config.mode === 'self-hosted'
      ? createMigration({
          ...common,
          isOperator,
          projects,
          runtimes: drivers.runtimes,
          readerOf: servers.reader,
          readStack: (files, readFor) => folderReader.readStack(files, readFor),
        })
      : undefined
  if (migration) projectPorts.parts = [...(projectPorts.parts ?? []), migration.part]
  const gitHost = createGitHost({
    ...common,
    ...(parts.gitHosts ?? createGitHosts(config)),
    mode: config.mode,
    people: { ...access, isOperator },
    cloudLinks: parts.cloudLinks ?? cloud?.gitHostLinks,
    hookAddress: projects.deliveryAddress,
    onConnected: projects.enqueueWebhookChecks,
    onHostMoved: projects.keepRemotes,
  })
  projectPorts.gitHost ??= gitHost
  const running =
    drivers &&
    assembleRunning(drivers, {
      ...{
        ...common,
        projects,
        git,
        dns,
        logStore,
        config,
        projectPorts,
        isOperator,
        grantedLevel,
        version,
        gitHost,
        control,
        registries,
      },
      imageRegistry: parts.imageRegistry ?? imageRegistryOf(config),
      oldContainers: migration ? { containers: migration.oldContainers } : {},
      cloudBackups: cloud?.backups ?? {},
      cloud: cloud?.connection,
      retryLimits,
      worker,
      instanceArchive: parts.instanceArchive ?? createInstanceArchive(config),
      machineId: parts.machineId === undefined ? testMachineId : parts.machineId,
      watchIntervals: parts.watchIntervals,
    })
  const transfers = running?.modules.transfers
  if (transfers) Object.assign(transferPorts, { running: transfers.running, removeCopy: transfers.removeCopy })
  serverPorts.usesOf = async (db, serverId) => [
    ...(await projectsOnServer(db, serverId)).map(({ name }) => `the project ${name}`),
    ...(await listServerUses(db, serverId)),
    ...((await migration?.usesOf(db, serverId)) ?? []),
  ]
  const machineReader = parts.machineReader ?? machineReaderOf(config)
  const machine = async () => {
    const readings = await machineReader.read()
    return { ...readings, problems: machineProblems(readings) }
  }
  const watched: NotificationsDeps['watched'] = {
    tokens: {
      expiring: async (...span) => [...(await access.expiringTokens(...span)), ...((await cloud?.expiringTokens(...span)) ?? [])],
    },
    ...(running
      ? { certificates: { ...running.certificates, operators: access.operators }, backups: running.modules.backups.watched }
      : {}),
    ...(servers ? { servers: servers.watched } : {}),
    ...(running ? { machine: { problems: async () => (await machine()).problems, operators: access.operators } } : {}),
    ...parts.watched,
  }
  const modules: Partial<Record<ModuleName, Module>> = {
    instance: createInstance({
      worker: async () => (parts.worker ? parts.worker.state() : 'ok'),
      version,
      mode: config.mode,
      isolation,
      isReady: access.isReady,
      isSetUp: access.isSetUp,
      machine,
      versionCheck: createVersionCheck(version, parts.newerVersions, common.clock),
    }),
    access,
    gitHost,
    registries,
    projects: { ...projects, handlers: { ...projects.handlers, ...transfers?.projectHandlers } },
    ...running?.modules,
    ...(servers ? { servers } : {}),
    ...(migration ? { migration } : {}),
    ...(cloud ? { cloud: { ...cloud, handlers: { ...cloud.handlers, ...transfers?.cloudHandlers } } } : {}),
    notifications: createNotifications({
      ...common,
      settings: { slackHost: config.slackHost },
      drivers: delivery,
      watched,
    }),
  }
  const close = async () => {
    cloudApi.close()
    await servers?.close()
    await uploadStore?.close()
    if (!parts.logStore) await logStore.close()
  }
  return { modules, access, gitHost, projects, git, logStore, cloud, running, close }
}

const assembleServers = (
  { links }: Drivers,
  { readerOf, ...deps }: Omit<ServersDeps, 'links' | 'readerOf'> & { readerOf: ServersDeps['readerOf'] | undefined },
) => createServers({ ...deps, links, readerOf: readerOf ?? ((serverId) => limitReader(createServerReader(links.for(serverId)))) })

/** The git driver. On the cloud service a repository URL may not lead to the service's own networks. */
const gitOf = ({ dataDir, environment, mode }: Config, resolve: Resolve = publicNames()): Git =>
  createGit({
    shell: createRunCommand(environment),
    workFolder: join(dataDir, 'git'),
    ...(mode === 'cloud' ? { permittedAddresses: publicAddresses(resolve) } : {}),
  })

/** The image registry driver. On the cloud service a registry may not lead to the service's own networks. */
const imageRegistryOf = (config: Config): ImageRegistry =>
  createImageRegistry({
    web: createWebRequest({ allowPrivate: config.mode === 'self-hosted' }),
    registries: allowedRegistries(config),
    imageMirror: config.imageMirror,
  })

/** The object store for uploads; only a cloud uses one, because its clients cannot upload to the instance itself. */
const uploadStoreOf = ({ mode, uploads }: Config, log: Logger): UploadStore | undefined => {
  const { bucket, accessKeyId, secretAccessKey, endpoint, region, prefix } = uploads
  if (mode !== 'cloud' || bucket === null || accessKeyId === null || secretAccessKey === null) return undefined
  const location = { bucket, region, prefix, ...(endpoint === null ? {} : { endpoint }) }
  return s3UploadStore({ kind: 's3', ...location, accessKeyId, secretAccessKey, allowsLocalAddress: true }, log)
}

/** The clock is compared with that of the certificate authority, which is used only with TLS at the edge. */
const machineReaderOf = ({ dataDir, acmeDirectory, edgeTlsPort }: Config): MachineReader => {
  const web = createWebRequest({ allowPrivate: true })
  return createMachineReader({
    dataDir,
    clockOffset: async () => (edgeTlsPort === null ? null : clockOffset(acmeDirectory, web)),
  })
}

const logStoreOf = ({ dataDir }: Config, logger: Logger): LogStore =>
  createLogStore({ folder: join(dataDir, 'logs'), onError: (err, what) => logger.error({ err }, `log store: ${what}`) })
