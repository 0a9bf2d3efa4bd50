import type { Folder } from './folder-files.ts'

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Hello from Berth</title>
    <link rel="stylesheet" href="style.css">
  </head>
  <body>
    <h1>It is live.</h1>
    <p>This page was uploaded from your browser. Change it, drop the folder again, and watch the switch.</p>
  </body>
</html>
`
const style = `body { font: 1.2rem/1.6 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1rem; color: #14507a }
`

/** An example site of two files, to try a deployment with one click. */
export const exampleFolder = (): Folder => ({
  name: 'hello',
  files: [
    { path: 'index.html', file: new File([page], 'index.html') },
    { path: 'style.css', file: new File([style], 'style.css') },
  ],
  skipped: 0,
  envFiles: [],
})
