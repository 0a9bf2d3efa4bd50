import { randomBytes } from 'node:crypto'
import type { Owner } from '../runtime.ts'

/** Kinds of objects that Berth creates in the engine. `stage`: an image that the classic builder leaves for its next build. */
export type Kind =
  | 'instance'
  | 'artifact'
  | 'dependencies'
  | 'stage'
  | 'build'
  | 'network'
  | 'link'
  | 'volume'
  | 'helper'
  | 'secret'

const labelKeys = {
  instance: 'berth.instance',
  kind: 'berth.kind',
  project: 'berth.project',
  deployment: 'berth.deployment',
  environment: 'berth.environment',
  service: 'berth.service',
  id: 'berth.id',
  network: 'berth.network',
  part: 'berth.part',
  key: 'berth.key',
  run: 'berth.run',
  port: 'berth.port',
  disk: 'berth.disk',
  inside: 'berth.inside',
} as const

export type LabelName = keyof typeof labelKeys
export type LabelMap = Record<string, string>

/** Labels of one Berth. Every object that it creates has them, and it never touches objects without them. */
export class Labels {
  /** Identifies the data folder. */
  readonly instance: string
  /** Identifies this run of the control plane. */
  readonly run = randomBytes(8).toString('hex')

  constructor(instance: string) {
    this.instance = instance
  }

  of(kind: Kind, more: Partial<Record<LabelName, string>> = {}): LabelMap {
    // Containers that serve a call are useless once the control plane that made the call has ended.
    return this.#named(kind, kind === 'build' || kind === 'helper' ? { ...more, run: this.run } : more)
  }

  #named(kind: Kind, more: Partial<Record<LabelName, string>>): LabelMap {
    const all: Partial<Record<LabelName, string>> = { ...more, instance: this.instance, kind }
    return Object.fromEntries(Object.entries(all).map(([name, value]) => [labelKeys[name as LabelName], value]))
  }

  ofOwner(kind: Kind, owner: Owner, service: string, more: Partial<Record<LabelName, string>> = {}): LabelMap {
    const { projectId, deploymentId, environment } = owner
    return this.of(kind, { project: projectId, deployment: deploymentId, environment, service, ...more })
  }

  /** Filter for list calls. */
  filter(kind: Kind, more: Partial<Record<LabelName, string>> = {}): { label: string[] } {
    return { label: Object.entries(this.#named(kind, more)).map(([name, value]) => `${name}=${value}`) }
  }

  /** Filter for objects of every Berth on this machine that have the label, with any value. */
  static filterAnyBerth = (name: LabelName): { label: string[] } => ({ label: [labelKeys[name]] })

  isThisBerth(labels: LabelMap | null | undefined): labels is LabelMap {
    return labels?.[labelKeys.instance] === this.instance
  }
}

export const labelIn = (labels: LabelMap | null | undefined, name: LabelName): string => labels?.[labelKeys[name]] ?? ''

export const ownerIn = (labels: LabelMap): Owner => ({
  projectId: labelIn(labels, 'project'),
  deploymentId: labelIn(labels, 'deployment'),
  environment: labelIn(labels, 'environment'),
})
