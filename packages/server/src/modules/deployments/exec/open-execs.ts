import { limits } from '@berth/contract'
import { newId } from '../../../platform/db/ids.ts'
import { fail } from '../../../platform/failure.ts'
import { ExecInput } from './exec-input.ts'

export interface OpenExec {
  id: string
  organizationId: string
  projectId: string
  userId: string
  /** null: it reads nothing. */
  input: ExecInput | null
}

/** One of several organisations leaves the others room. */
const shareOfOrganization = 0.8

interface NewExec extends Pick<OpenExec, 'organizationId' | 'projectId' | 'userId'> {
  input: boolean
  /** The instance has other organisations. */
  isShared: boolean
}

/** The programs that run inside projects by this control plane; bounded in number. */
export class OpenExecs {
  readonly #open = new Map<string, OpenExec>()

  /** Takes a place; whoever took it gives it back. */
  open({ organizationId, projectId, userId, input, isShared }: NewExec): OpenExec {
    const all = [...this.#open.values()]
    const ofProject = all.filter((one) => one.projectId === projectId).length
    const ofOrganization = all.filter((one) => one.organizationId === organizationId).length
    const share = limits.execsOfInstance * (isShared ? shareOfOrganization : 1)
    if (ofProject >= limits.execsOfProject || ofOrganization >= share || all.length >= limits.execsOfInstance)
      fail('rate_limited', {
        words: `No more than ${limits.execsOfProject} programs run inside a project at once (${share} of an organisation, ${limits.execsOfInstance} on the instance): end one, or wait`,
      })
    const one = { id: newId('exe'), organizationId, projectId, userId, input: input ? new ExecInput() : null }
    this.#open.set(one.id, one)
    return one
  }

  close({ id, input }: OpenExec): void {
    this.#open.delete(id)
    input?.end()
  }

  /** Only who started it feeds it. */
  find(id: string, { projectId, userId }: Pick<OpenExec, 'projectId' | 'userId'>): OpenExec | undefined {
    const one = this.#open.get(id)
    return one?.projectId === projectId && one.userId === userId ? one : undefined
  }
}
