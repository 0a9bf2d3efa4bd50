import { Readable } from 'node:stream'
import type { contract } from '@berth/contract'
import type { Caller, Handlers } from '../../http/handler.ts'
import { fail } from '../../platform/failure.ts'
import { cancel } from './cancel.ts'
import { showTransfer, startTransfer } from './coordinator/start-transfer.ts'
import type { CoordinatorDeps, TransfersDeps } from './deps.ts'
import { changeExport, startExport } from './export/exports.ts'
import { readPacked } from './export/packed-files.ts'
import { changeImport, openImport } from './import/imports.ts'
import { storeFile } from './import/received-files.ts'
import { showImport } from './import/show-import.ts'
import { openSidesOfOrganization } from './rows/side-store.ts'
import { findSideOf, showExport, showSide } from './rows/sides.ts'
import { newestTransfer } from './rows/transfer-store.ts'

const idPattern = /^trf_[a-z2-7]{20}$/
const filePattern = /^[a-z0-9][a-z0-9_.-]{0,120}$/

/** Routes of one side. The API calls an export a departure, and an import an arrival. */
export function transfersHandlers(deps: TransfersDeps): Handlers<typeof contract.transfers> {
  const exportOf = (id: string, caller: Caller) => findSideOf(id, 'departure', caller, deps)
  const importOf = (id: string, caller: Caller) => findSideOf(id, 'arrival', caller, deps)
  const file = (name: string) => (filePattern.test(name) ? name : fail('not_found'))
  return {
    list: async (_, { caller }) => ({
      data: (await openSidesOfOrganization(deps.database.db, caller.organizationId)).map(showSide),
    }),
    callOff: async ({ params }, { caller }) => {
      await cancel(params.id, caller.organizationId, deps)
    },
    depart: async ({ body }, { project, caller }) => ({
      data: showExport(await startExport(project, body, caller.userId, deps)),
    }),
    getDeparture: async ({ params }, { caller }) => ({ data: showExport(await exportOf(params.id, caller)) }),
    changeDeparture: async ({ params, body }, { caller }) => ({
      data: showExport(await changeExport(await exportOf(params.id, caller), body.state, deps)),
    }),
    readFile: async ({ params }, { caller }) =>
      Readable.from(await readPacked(await exportOf(params.id, caller), file(params.file), deps), {
        objectMode: false,
      }) as never,
    arrive: async ({ params, body }, { caller }) => {
      if (!idPattern.test(params.id)) fail('not_found')
      return { data: await showImport(await openImport(params.id, body, caller, deps), deps) }
    },
    getArrival: async ({ params }, { caller }) => ({ data: await showImport(await importOf(params.id, caller), deps) }),
    changeArrival: async ({ params, body }, { caller }) => ({
      data: await showImport(await changeImport(await importOf(params.id, caller), body, deps), deps),
    }),
    writeFile: async ({ params, query, upload }, { caller }) => {
      await storeFile(await importOf(params.id, caller), file(params.file), query.sha256, upload, deps)
    },
  }
}

type TransferRoutes = Pick<Handlers<typeof contract.projects>, 'transferToCloud' | 'transferToSelfHosted'>

/** Routes of a project that start its transfer. Self-hosted instances only. */
export function projectTransferHandlers(deps: CoordinatorDeps): TransferRoutes {
  const start =
    (direction: 'to_cloud' | 'to_self_hosted'): TransferRoutes['transferToCloud'] =>
    async ({ params, body: { withData = true } }, { project, caller }) => {
      const { warnings, ...data } = await startTransfer({ projectId: params.id, project, direction, withData, caller }, deps)
      return { data, warnings }
    }
  return { transferToCloud: start('to_cloud'), transferToSelfHosted: start('to_self_hosted') }
}

/** Route that shows a project's newest transfer. Self-hosted instances only. */
export const transferStatusHandlers = ({ database }: CoordinatorDeps): Pick<Handlers<typeof contract.cloud>, 'transfer'> => ({
  transfer: async ({ params }, { project, caller }) => {
    const row = await newestTransfer(database.db, caller.organizationId, params.id)
    if (!project && !row) fail('not_found')
    return { data: row ? showTransfer(row) : null }
  },
})
