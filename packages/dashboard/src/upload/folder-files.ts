export interface FolderFile {
  /** Path relative to the selected folder. */
  path: string
  file: File
}

export interface Folder {
  name: string
  files: FolderFile[]
  /** Number of files that are not uploaded: the build creates them again, or they do not belong to the source. */
  skipped: number
  /** Files with variables, which usually contain secrets. The user decides whether they are uploaded. */
  envFiles: FolderFile[]
}

const ignoredNames = new Set(['node_modules', '.git', '.hg', '.svn', '.DS_Store', '__pycache__', '.venv'])
const isUploaded = (path: string) => !path.split('/').some((part) => ignoredNames.has(part))

const templates = /\.(?:example|sample|template|dist|defaults|vault)$/

/** Whether a file is a `.env` file with values; templates such as `.env.example` contain none. */
export function isEnvFile(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return (name === '.env' || name.startsWith('.env.')) && !templates.test(name)
}

/** The folder with its `.env` files put aside. */
export const withoutEnvFiles = ({ name, files, skipped }: Omit<Folder, 'envFiles'>): Folder => ({
  name,
  files: files.filter(({ path }) => !isEnvFile(path)),
  skipped,
  envFiles: files.filter(({ path }) => isEnvFile(path)),
})

/** The folder that `<input webkitdirectory>` returns. */
export function folderOfInput(list: FileList): Folder {
  const all = [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }))
  const name = all[0]?.path.split('/')[0] ?? 'folder'
  const hasCommonRoot = all.every(({ path }) => path.startsWith(`${name}/`))
  const inside = all.map(({ path, file }) => ({ path: hasCommonRoot ? path.slice(name.length + 1) : path, file }))
  const files = inside.filter(({ path }) => isUploaded(path))
  return withoutEnvFiles({ name, files, skipped: inside.length - files.length })
}

/** The folder or the single files that were dropped onto the page. */
export async function folderOfDrop(items: DataTransferItemList): Promise<Folder> {
  // Must be called before the first await: the list is empty afterwards.
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? [])
  const [first] = entries
  const single = entries.length === 1 && first?.isDirectory ? first : undefined
  const folder = { name: single?.name ?? 'folder', files: [] as FolderFile[], skipped: 0 }
  for (const entry of single ? await childrenOf(single as FileSystemDirectoryEntry) : entries) await collect(entry, '', folder)
  return withoutEnvFiles(folder)
}

async function collect(entry: FileSystemEntry, below: string, into: Pick<Folder, 'files' | 'skipped'>): Promise<void> {
  const path = below ? `${below}/${entry.name}` : entry.name
  if (!isUploaded(path)) into.skipped++
  else if (entry.isDirectory)
    for (const child of await childrenOf(entry as FileSystemDirectoryEntry)) await collect(child, path, into)
  else into.files.push({ path, file: await fileOf(entry as FileSystemFileEntry) })
}

const fileOf = (entry: FileSystemFileEntry) => new Promise<File>((resolve, reject) => entry.file(resolve, reject))

/** A browser returns a folder's entries in batches of a hundred. */
async function childrenOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader()
  const children: FileSystemEntry[] = []
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (batch.length === 0) return children
    children.push(...batch)
  }
}
