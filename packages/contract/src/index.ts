import { access } from './access/rows.ts'
import { backups } from './backups/rows.ts'
import { catalogue } from './catalogue/rows.ts'
import { cloud } from './cloud/rows.ts'
import { deployments } from './deployments/rows.ts'
import { gitEvents } from './git-events/rows.ts'
import { gitHost } from './git-host/rows.ts'
import { instance } from './instance/rows.ts'
import { links } from './links/rows.ts'
import { migration } from './migration/rows.ts'
import { notifications } from './notifications/rows.ts'
import { projects } from './projects/rows.ts'
import { registries } from './registries/rows.ts'
import type { AnyRoute } from './route.ts'
import { servers } from './servers/rows.ts'
import { tasks } from './tasks/rows.ts'
import { transfers } from './transfers/rows.ts'

/** The whole table. */
export const contract = {
  instance,
  access,
  projects,
  deployments,
  gitHost,
  gitEvents,
  notifications,
  backups,
  servers,
  registries,
  migration,
  links,
  tasks,
  catalogue,
  transfers,
  cloud,
}

export type ModuleName = keyof typeof contract

export interface TableEntry {
  module: ModuleName
  name: string
  row: AnyRoute
}

/** Every row with the module and the name it has there. */
export const table: readonly TableEntry[] = Object.entries(contract).flatMap(([module, rows]) =>
  Object.entries(rows).map(([name, row]) => ({ module: module as ModuleName, name, row: row as AnyRoute })),
)

export * from './access/passkey-shapes.ts'
export * from './access/shapes.ts'
export * from './backups/instance-shapes.ts'
export * from './backups/shapes.ts'
export * from './catalogue/shapes.ts'
export * from './cloud/shapes.ts'
export * from './deployments/exec-shapes.ts'
export * from './deployments/hook-shapes.ts'
export * from './deployments/shapes.ts'
export * from './deployments/storage-shapes.ts'
export * from './deployments/volume-shapes.ts'
export * from './errors.ts'
export * from './events.ts'
export { fieldTexts } from './field-texts.ts'
export * from './git-events/shapes.ts'
export * from './git-host/application-shapes.ts'
export * from './git-host/shapes.ts'
export * from './git-shapes.ts'
export * from './instance/machine-shapes.ts'
export * from './limits.ts'
export * from './links/shapes.ts'
export * from './migration/shapes.ts'
export * from './notifications/categories.ts'
export * from './notifications/shapes.ts'
export { patternText } from './pattern-texts.ts'
export * from './permissions.ts'
export { programName } from './program-name.ts'
export * from './projects/container-shapes.ts'
export * from './projects/domain-shapes.ts'
export * from './projects/environment-shapes.ts'
export { hostNameIn } from './projects/host-name.ts'
export * from './projects/log-shapes.ts'
export * from './projects/metric-shapes.ts'
export * from './projects/project-file.ts'
export * from './projects/rule-shapes.ts'
export * from './projects/shapes.ts'
export * from './projects/upload-address.ts'
export * from './projects/upload-shapes.ts'
export * from './registries/shapes.ts'
export * from './route.ts'
export * from './servers/shapes.ts'
export { Warnings } from './shape.ts'
export * from './shape-problems.ts'
export * from './states.ts'
export * from './tasks/shapes.ts'
export * from './transfers/bundle.ts'
export { bundleFileBytes } from './transfers/rows.ts'
export * from './transfers/shapes.ts'
