import { limits } from '@berth/contract'
import { newId } from '../../../platform/db/ids.ts'
import { fail } from '../../../platform/failure.ts'
import { ExecInput } from './exec-input.ts'

export interface OpenExec {
  id: string
  projectId: string
  userId: string
  /** null: it reads nothing. */
  input: ExecInput | null
}

/** The programs that run inside projects by this control plane; bounded in number. */
export class OpenExecs {
  readonly #open = new Map<string, OpenExec>()

  /** Takes a place; whoever took it gives it back. */
  open({ projectId, userId, input }: { projectId: string; userId: string; input: boolean }): OpenExec {
    const ofProject = [...this.#open.values()].filter((one) => one.projectId === projectId).length
    if (ofProject >= limits.execsOfProject || this.#open.size >= limits.execsOfInstance)
      fail('rate_limited', {
        words: `No more than ${limits.execsOfProject} programs run inside a project at once (${limits.execsOfInstance} on the instance): end one, or wait`,
      })
    const one = { id: newId('exe'), projectId, userId, input: input ? new ExecInput() : null }
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
