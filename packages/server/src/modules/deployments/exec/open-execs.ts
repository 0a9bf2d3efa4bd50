import { limits } from '@berth/contract'
import { newId } from '../../../platform/db/ids.ts'
import { fail } from '../../../platform/failure.ts'
import { ExecInput } from './exec-input.ts'

export interface OpenExec {
  id: string
  organizationId: string
  projectId: string
  userId: string
  /** null: the program has no standard input. */
  input: ExecInput | null
}

/** Share of the instance limit that one of several organisations may use. */
const organizationShare = 0.8

interface NewExec extends Pick<OpenExec, 'organizationId' | 'projectId' | 'userId'> {
  input: boolean
  /** The instance has other organisations. */
  isShared: boolean
}

/** Programs that this control plane runs inside projects, limited in number. */
export class OpenExecs {
  readonly #open = new Map<string, OpenExec>()

  /** Reserves a slot; the caller must release it with `close`. */
  open({ organizationId, projectId, userId, input, isShared }: NewExec): OpenExec {
    const all = [...this.#open.values()]
    const projectCount = all.filter((exec) => exec.projectId === projectId).length
    const organizationCount = all.filter((exec) => exec.organizationId === organizationId).length
    const organizationLimit = limits.execsOfInstance * (isShared ? organizationShare : 1)
    if (projectCount >= limits.execsOfProject || organizationCount >= organizationLimit || all.length >= limits.execsOfInstance)
      fail('rate_limited', {
        message: `At most ${limits.execsOfProject} commands can run in a project at the same time (${organizationLimit} per organisation, ${limits.execsOfInstance} on the instance). Stop one, or wait.`,
      })
    const exec = { id: newId('exe'), organizationId, projectId, userId, input: input ? new ExecInput() : null }
    this.#open.set(exec.id, exec)
    return exec
  }

  close({ id, input }: OpenExec): void {
    this.#open.delete(id)
    input?.end()
  }

  /** Only the user who started the program may send it input. */
  find(id: string, { projectId, userId }: Pick<OpenExec, 'projectId' | 'userId'>): OpenExec | undefined {
    const exec = this.#open.get(id)
    return exec?.projectId === projectId && exec.userId === userId ? exec : undefined
  }
}
