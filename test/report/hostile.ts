/** What clients, servers and files could write to make a report say or do something else. */
export const HOSTILE = [
  '</script><script>window.hacked = 1</script>',
  '<img src=x onerror="window.hacked = 2">',
  `" autofocus onfocus="window.hacked = 3" x='`,
  '</pre></dialog></body>]]>',
  '\x1b[2J\x1b]0;owned\x07\r\0',
  '\u202egnp.exe \u2066',
  'a|b `c` ![x](http://127.0.0.1:9/x.png)',
].join(' ');
