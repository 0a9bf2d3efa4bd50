/** A field of a message in protobuf's wire format: a number, or bytes (text, a message). */
export interface Field {
  field: number
  number: number
  bytes: Buffer
}

/** Reads a message one level deep. A truncated message yields the fields before the cut. */
export function fieldsOf(message: Buffer): Field[] {
  const fields: Field[] = []
  let at = 0
  const varint = () => {
    let value = 0
    for (let scale = 1; at < message.length; scale *= 128) {
      const byte = message[at++] as number
      value += (byte & 127) * scale
      if (byte < 128) break
    }
    return value
  }
  while (at < message.length) {
    const key = varint()
    const [field, kind] = [Math.floor(key / 8), key % 8]
    if (kind === 0) fields.push({ field, number: varint(), bytes: Buffer.alloc(0) })
    else {
      const length = kind === 2 ? varint() : kind === 1 ? 8 : 4
      if (at + length > message.length) return fields
      fields.push({ field, number: 0, bytes: message.subarray(at, at + length) })
      at += length
    }
  }
  return fields
}

const find = (message: Buffer, field: number) => fieldsOf(message).find((one) => one.field === field)

/** Text of a field. '' if the message does not have it. */
export const textIn = (message: Buffer, field: number): string => find(message, field)?.bytes.toString('utf8') ?? ''

/** Number of a field. 0 if the message does not have it, which is protobuf's default. */
export const numberIn = (message: Buffer, field: number): number => find(message, field)?.number ?? 0

export const bytesIn = (message: Buffer, field: number): Buffer => find(message, field)?.bytes ?? Buffer.alloc(0)

export function bytesField(field: number, content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content as string)
  return Buffer.concat([varintOf(BigInt(field * 8 + 2)), varintOf(BigInt(bytes.length)), bytes])
}

export const numberField = (field: number, value: number | bigint): Buffer =>
  Buffer.concat([varintOf(BigInt(field * 8)), varintOf(BigInt.asUintN(64, BigInt(value)))])

function varintOf(value: bigint): Buffer {
  const bytes: number[] = []
  for (let rest = value; ; rest >>= 7n) {
    bytes.push(rest < 128n ? Number(rest) : Number(rest & 127n) + 128)
    if (rest < 128n) return Buffer.from(bytes)
  }
}
