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
const shareOfOrganization = 0.8

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
    const ofProject = all.filter((one) => one.projectId === projectId).length
    const ofOrganization = all.filter((one) => one.organizationId === organizationId).length
    const share = limits.execsOfInstance * (isShared ? shareOfOrganization : 1)
    if (ofProject >= limits.execsOfProject || ofOrganization >= share || all.length >= limits.execsOfInstance)
      fail('rate_limited', {
        message: `At most ${limits.execsOfProject} commands can run in a project at the same time (${share} per organisation, ${limits.execsOfInstance} on the instance). Stop one, or wait.`,
      })
    const one = { id: newId('exe'), organizationId, projectId, userId, input: input ? new ExecInput() : null }
    this.#open.set(one.id, one)
    return one
  }

  close({ id, input }: OpenExec): void {
    this.#open.delete(id)
    input?.end()
  }

  /** Only the user who started the program may send it input. */
  find(id: string, { projectId, userId }: Pick<OpenExec, 'projectId' | 'userId'>): OpenExec | undefined {
    const one = this.#open.get(id)
    return one?.projectId === projectId && one.userId === userId ? one : undefined
  }
}
