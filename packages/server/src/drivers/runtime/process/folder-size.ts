import { HeldFolder } from '../../folder/held-folder.ts'

/** Each level is held open while those below it are read. */
const deepest = 512

/** Of the names in the folder and below it; nobody who changes it meanwhile makes us look elsewhere. */
export async function folderSizeBytes(path: string): Promise<number> {
  await using folder = await HeldFolder.open(path)
  return folder ? await sizeOf(folder, 0) : 0
}

async function sizeOf(folder: HeldFolder, depth: number): Promise<number> {
  let sum = 0
  for (const name of await folder.names().catch(() => [])) {
    const stat = await folder.stat(name).catch(() => null)
    if (!stat?.isDirectory()) sum += stat?.size ?? 0
    else if (depth < deepest) {
      await using inner = await folder.enter(name).catch(() => null)
      if (inner) sum += await sizeOf(inner, depth + 1)
    }
  }
  return sum
}
