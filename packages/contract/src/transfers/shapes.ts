import { type Static, Type } from 'typebox'
import { Id, maybe, nullable, oneOf, secret, Time, text } from '../shape.ts'
import { type ExportState, exportStates, type ImportState, importStates, transferPhases } from '../states.ts'

export const TransferId = Type.String({ pattern: '^trf_[a-z2-7]{20}$' })
/** Id of a project on the other side. */
const ProjectId = Type.String({ pattern: '^prj_[a-z2-7]{20}$' })
/** A file name, never a path: begins with a letter or a digit, and contains no folder. */
export const BundleFileName = Type.String({ pattern: '^[a-z0-9][a-z0-9_.-]{0,120}$' })
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })
const AgeRecipient = Type.String({ pattern: '^age1[a-z0-9]{58}$' })
const PublicKey = Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' })

/** A file of a bundle. All files are encrypted except the manifests, which contain only names, sizes and hashes. */
export const BundleFile = Type.Object({ name: BundleFileName, sizeBytes: Type.Integer({ minimum: 0 }), sha256: Sha256 })
export type BundleFile = Static<typeof BundleFile>

const SideError = nullable(Type.Object({ code: Type.String(), message: Type.String() }))

export const ExportBody = Type.Object({
  transfer: TransferId,
  /** Public key that everything is encrypted to. */
  recipient: AgeRecipient,
  /** Volumes are included unless this is false. */
  withData: Type.Optional(Type.Boolean({ default: true })),
})
export type ExportBody = Static<typeof ExportBody>

export const TransferExport = Type.Object({
  transfer: TransferId,
  projectId: Id,
  state: oneOf(...exportStates),
  /** Public key (Ed25519) that verifies the manifests' signatures. */
  signer: PublicKey,
  /** All files that can be downloaded now. */
  files: Type.Array(BundleFile),
  /** Parts of the project that are not transferred. Absent in responses of an older version of Berth. */
  warnings: Type.Optional(Type.Array(Type.String())),
  error: SideError,
})
export type TransferExport = Static<typeof TransferExport>

/**
 * `ready`: stop the project and pack what changed after the first pass. `departed`: the project is on the other instance now.
 * `aborted`: it stays on this one.
 */
export const ExportChange = Type.Object({ state: oneOf('ready', 'departed', 'aborted') })

export const ImportBody = Type.Object({
  project: ProjectId,
  /** Private key of a bundle file, which was encrypted in advance; without it the receiving side creates a key pair. */
  identity: Type.Optional(secret(text(100, 1))),
})
export type ImportBody = Static<typeof ImportBody>

export const TransferImport = Type.Object({
  transfer: TransferId,
  projectId: Id,
  state: oneOf(...importStates),
  recipient: AgeRecipient,
  /** Files that were received completely. */
  files: Type.Array(BundleFileName),
  /** Differences from the source: a slug that was taken, a domain that belongs to another project. */
  warnings: Type.Array(Type.String()),
  error: SideError,
})
export type TransferImport = Static<typeof TransferImport>

/**
 * `staged`: record and build the project. `landed`: write its data and start it, without a route. `active`: the project is on
 * this instance now.
 */
export const ImportChange = Type.Object({
  state: oneOf('staged', 'landed', 'active', 'aborted'),
  /** Public key that all manifests must be signed with; required for `staged`. */
  signer: Type.Optional(PublicKey),
})
export type ImportChange = Static<typeof ImportChange>

/** An unfinished side of a transfer: it uses disk space, and blocks other transfers of its project. */
export const OpenSide = Type.Object({
  transfer: TransferId,
  projectId: Id,
  side: oneOf('departure', 'arrival'),
  state: oneOf(...new Set<ExportState | ImportState>([...exportStates, ...importStates])),
  createdBy: Id,
  createdAt: Time,
  /** When its client last accessed it. */
  touchedAt: Time,
})
export type OpenSide = Static<typeof OpenSide>

/** A transfer between this instance and the cloud, with its progress. */
export const Transfer = Type.Object({
  id: TransferId,
  projectId: Id,
  direction: oneOf('to_cloud', 'to_self_hosted'),
  withData: Type.Boolean(),
  phase: oneOf(...transferPhases),
  /** Bytes of the encrypted files. */
  bytesDone: Type.Integer(),
  bytesTotal: nullable(Type.Integer()),
  error: SideError,
  warnings: Type.Array(Type.String()),
  createdBy: maybe,
  createdAt: Time,
  finishedAt: nullable(Time),
})
export type Transfer = Static<typeof Transfer>
