/** QR codes (ISO/IEC 18004) of version 9 with error correction level L and mask 0: one size, large enough for an `otpauth:` URI. */

const version = 9
const size = 17 + 4 * version
const alignmentCentres = [6, 26, 46]
const blockCount = 2
const blockDataBytes = 116
const blockCheckBytes = 30
const maxTextBytes = blockCount * blockDataBytes - 2
/** Format bits of level L and mask 0, and version bits of version 9, each with its BCH code. */
const formatBits = 0b111011111000100
const versionBits = 0b001001101010011001

/** The dark modules by row; null if the text is too long. */
export function qrCode(text: string): boolean[][] | null {
  const bytes = new TextEncoder().encode(text)
  if (bytes.length > maxTextBytes) return null
  const dark = newGrid()
  const isFunction = newGrid()
  drawFunctionPatterns((row, column, isDark) => {
    dark[row]![column] = isDark
    isFunction[row]![column] = true
  })
  drawData(interleaved(dataBytes(bytes)), dark, isFunction)
  return dark
}

const newGrid = (): boolean[][] => Array.from({ length: size }, () => Array<boolean>(size).fill(false))

type Draw = (row: number, column: number, isDark: boolean) => void

function drawFunctionPatterns(draw: Draw): void {
  for (let at = 0; at < size; at++) {
    draw(6, at, at % 2 === 0)
    draw(at, 6, at % 2 === 0)
  }
  for (const [row, column] of [
    [3, 3],
    [3, size - 4],
    [size - 4, 3],
  ] as const)
    drawRings(draw, row, column, 4, [0, 1, 3])
  for (const row of alignmentCentres)
    for (const column of alignmentCentres) {
      // The other three corners are finder patterns.
      const isCorner = row !== 26 && column !== 26
      if (!isCorner || (row === 46 && column === 46)) drawRings(draw, row, column, 2, [0, 2])
    }
  drawFormat(draw)
  drawVersion(draw)
}

/** Draws square rings around a centre; those with a radius in `darkRadii` are dark. */
function drawRings(draw: Draw, row: number, column: number, radius: number, darkRadii: readonly number[]): void {
  for (let down = -radius; down <= radius; down++)
    for (let right = -radius; right <= radius; right++) {
      const [y, x] = [row + down, column + right]
      const isInside = y >= 0 && y < size && x >= 0 && x < size
      if (isInside) draw(y, x, darkRadii.includes(Math.max(Math.abs(down), Math.abs(right))))
    }
}

function drawFormat(draw: Draw): void {
  const bit = (at: number) => ((formatBits >> at) & 1) === 1
  for (let at = 0; at < 15; at++) {
    // The first copy goes around the upper left finder and skips the timing patterns.
    if (at < 8) draw(at < 6 ? at : at + 1, 8, bit(at))
    else draw(8, at < 9 ? 7 : 14 - at, bit(at))
    if (at < 8) draw(8, size - 1 - at, bit(at))
    else draw(size - 15 + at, 8, bit(at))
  }
  draw(size - 8, 8, true)
}

function drawVersion(draw: Draw): void {
  for (let at = 0; at < 18; at++) {
    const isDark = ((versionBits >> at) & 1) === 1
    const [near, far] = [Math.floor(at / 3), size - 11 + (at % 3)]
    draw(near, far, isDark)
    draw(far, near, isDark)
  }
}

/** The text in byte mode: mode, length, bytes, end, padding. */
function dataBytes(text: Uint8Array): number[] {
  const bits = `0100${text.length.toString(2).padStart(8, '0')}${[...text].map((byte) => byte.toString(2).padStart(8, '0')).join('')}0000`
  const bytes = (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2))
  for (let pad = 0xec; bytes.length < blockCount * blockDataBytes; pad ^= 0xec ^ 0x11) bytes.push(pad)
  return bytes
}

/** Splits the data into blocks, adds their check bytes, and takes one byte of each block in turn. */
function interleaved(data: readonly number[]): number[] {
  const blocks = Array.from({ length: blockCount }, (_, at) => data.slice(at * blockDataBytes, (at + 1) * blockDataBytes))
  const checks = blocks.map(checkBytes)
  const inTurn = (lists: number[][], length: number) =>
    Array.from({ length }, (_, at) => lists.map((list) => list[at] as number)).flat()
  return [...inTurn(blocks, blockDataBytes), ...inTurn(checks, blockCheckBytes)]
}

/** The Reed-Solomon remainder over GF(256) with the polynomial 0x11d. */
function checkBytes(data: readonly number[]): number[] {
  const generator = generatorOf(blockCheckBytes)
  const rest = Array<number>(blockCheckBytes).fill(0)
  for (const byte of data) {
    const factor = byte ^ (rest.shift() as number)
    rest.push(0)
    for (const [at, coefficient] of generator.entries()) rest[at] = (rest[at] as number) ^ multiply(coefficient, factor)
  }
  return rest
}

/** Coefficients of the product of (x - 2^i), highest power first, without the leading 1. */
function generatorOf(degree: number): number[] {
  const result = [...Array<number>(degree - 1).fill(0), 1]
  let root = 1
  for (let count = 0; count < degree; count++) {
    for (let at = 0; at < degree; at++) result[at] = multiply(result[at] as number, root) ^ (result[at + 1] ?? 0)
    root = multiply(root, 2)
  }
  return result
}

function multiply(left: number, right: number): number {
  let product = 0
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >> 7) * 0x11d)
    product ^= ((right >> bit) & 1) * left
  }
  return product
}

/** Writes the bits in columns of two from the right, up and down in turn, and applies the mask. */
function drawData(bytes: readonly number[], dark: boolean[][], isFunction: boolean[][]): void {
  let at = 0
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5
    const isUpward = ((right + 1) & 2) === 0
    for (let step = 0; step < size; step++)
      for (const column of [right, right - 1]) {
        const row = isUpward ? size - 1 - step : step
        if (isFunction[row]![column]) continue
        const bit = (((bytes[at >> 3] ?? 0) >> (7 - (at & 7))) & 1) === 1
        dark[row]![column] = bit !== ((row + column) % 2 === 0)
        at++
      }
  }
}
