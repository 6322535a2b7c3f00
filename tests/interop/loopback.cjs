// Makes every TCP server of this Node.js process listen on loopback only: node --require loopback.cjs …
const net = require('node:net');
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...a) {
  if (typeof a[0] === 'number' || /^\d+$/.test(a[0])) {
    if (typeof a[1] === 'string') a[1] = '127.0.0.1';
    else a.splice(1, 0, '127.0.0.1');
  } else if (a[0] && typeof a[0] === 'object' && a[0].port !== undefined) {
    a[0] = { ...a[0], host: '127.0.0.1' };
  }
  return listen.apply(this, a);
};
