import { type Static, Type } from 'typebox'
import { Id, maybe, nullable, oneOf, secret, Time, text } from '../shape.ts'
import { type ArrivalState, arrivalStates, type DepartureState, departureStates, transferPhases } from '../states.ts'

export const TransferId = Type.String({ pattern: '^trf_[a-z2-7]{20}$' })
/** Of a project on the other side. */
const ProjectId = Type.String({ pattern: '^prj_[a-z2-7]{20}$' })
/** No path: a name that begins with a letter or a digit, and has no folder in it. */
export const BundleFileName = Type.String({ pattern: '^[a-z0-9][a-z0-9_.-]{0,120}$' })
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
const AgeRecipient = Type.String({ pattern: '^age1[a-z0-9]{58}$' })
const PublicKey = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' })

/** One file of a bundle. All of them are encrypted, but for the manifests, which hold no more than names, sizes and hashes. */
export const BundleFile = Type.Object({ name: BundleFileName, sizeBytes: Type.Integer({ minimum: 0 }), sha256: Sha256 })
export type BundleFile = Static<typeof BundleFile>

const EndError = nullable(Type.Object({ code: Type.String(), message: Type.String() }))

export const DepartureBody = Type.Object({
  transfer: TransferId,
  /** To whom everything is encrypted. */
  recipient: AgeRecipient,
  /** Volumes come along unless this is false. */
  withData: Type.Optional(Type.Boolean({ default: true })),
})
export type DepartureBody = Static<typeof DepartureBody>

export const Departure = Type.Object({
  transfer: TransferId,
  projectId: Id,
  state: oneOf(...departureStates),
  /** Who signs its manifests: an Ed25519 key. */
  signer: PublicKey,
  /** All that there is to fetch now. */
  files: Type.Array(BundleFile),
  /** Parts of the project that stay behind. Absent: from an older version of Berth. */
  warnings: Type.Optional(Type.Array(Type.String())),
  error: EndError,
})
export type Departure = Static<typeof Departure>

/** `ready`: stop the project and pack what changed since. `departed`: it lives elsewhere now. `aborted`: it stays. */
export const DepartureChange = Type.Object({ state: oneOf('ready', 'departed', 'aborted') })

export const ArrivalBody = Type.Object({
  project: ProjectId,
  /** Of a bundle in a file, which was encrypted before anybody asked; without it the receiving side makes one. */
  identity: Type.Optional(secret(text(100, 1))),
})
export type ArrivalBody = Static<typeof ArrivalBody>

export const Arrival = Type.Object({
  transfer: TransferId,
  projectId: Id,
  state: oneOf(...arrivalStates),
  recipient: AgeRecipient,
  /** What has arrived whole. */
  files: Type.Array(BundleFileName),
  /** What came otherwise than it left: a slug that was taken, a domain that is another project's. */
  warnings: Type.Array(Type.String()),
  error: EndError,
})
export type Arrival = Static<typeof Arrival>

/** `staged`: record and build it. `landed`: write its data and start it, without a route. `active`: it lives here now. */
export const ArrivalChange = Type.Object({
  state: oneOf('staged', 'landed', 'active', 'aborted'),
  /** With `staged`: whose signature the manifests must have, that one's and the next one's. */
  signer: Type.Optional(PublicKey),
})
export type ArrivalChange = Static<typeof ArrivalChange>

/** An end that is not over: it takes room, and its project cannot be moved by anybody else meanwhile. */
export const OpenEnd = Type.Object({
  transfer: TransferId,
  projectId: Id,
  side: oneOf('departure', 'arrival'),
  state: oneOf(...new Set<DepartureState | ArrivalState>([...departureStates, ...arrivalStates])),
  createdBy: Id,
  createdAt: Time,
  /** When whoever drives it last asked for it. */
  touchedAt: Time,
})
export type OpenEnd = Static<typeof OpenEnd>

/** A move between this instance and the cloud, as far as it has come. */
export const Transfer = Type.Object({
  id: TransferId,
  projectId: Id,
  direction: oneOf('to_cloud', 'to_self_hosted'),
  withData: Type.Boolean(),
  phase: oneOf(...transferPhases),
  /** Of the encrypted files. */
  bytesDone: Type.Integer(),
  bytesTotal: nullable(Type.Integer()),
  error: EndError,
  warnings: Type.Array(Type.String()),
  createdBy: maybe,
  createdAt: Time,
  finishedAt: nullable(Time),
})
export type Transfer = Static<typeof Transfer>
