// A provider for Millwright in JavaScript: machines are slots on a shelf, which is a file.
//
//   node provider.js unix:///run/shelf.sock shelf.json
'use strict';

const fs = require('fs');
const path = require('path');
const crypto = require('crypto');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const [, , address, file] = process.argv;
const proto = path.join(__dirname, '../../wire/provider.proto');
const service = grpc.loadPackageDefinition(loader.loadSync(proto, { keepCase: true, enums: String, longs: Number, defaults: true }))
  .millwright.provider.v1.Provider.service;

// Failure is what is said in a reply: an answer of the infrastructure. Any other error ends the call, and its outcome is unknown.
class Failure extends Error {
  constructor(kind, message, field = '') {
    super(message);
    this.reply = { failure: { kind: `KIND_${kind}`, message, field } };
  }
}

// The infrastructure. What it keeps outlives this process; a file that cannot be read is no empty shelf.
function load() {
  try {
    return JSON.parse(fs.readFileSync(file));
  } catch (e) {
    if (e.code !== 'ENOENT') throw e;
    return { account: crypto.randomUUID(), slots: [] };
  }
}

function save(shelf) {
  fs.writeFileSync(`${file}.new`, JSON.stringify(shelf));
  fs.renameSync(`${file}.new`, file);
}

// decode reads the provider spec, {"width": 3}. A machine on its way out may have none left: it is found and deleted all the same.
function decode(klass) {
  if (klass.spec.length === 0) return null;
  let spec;
  try {
    spec = JSON.parse(klass.spec);
  } catch (e) {
    throw new Failure('INVALID', `the provider spec is no JSON: ${e.message}`);
  }
  for (const field of Object.keys(spec)) {
    if (field !== 'width') throw new Failure('INVALID', `unknown field "${field}"`, field);
  }
  if (!(spec.width >= 1)) throw new Failure('INVALID', `${spec.width} is less than 1`, 'width');
  return spec;
}

function mine(klass, ref) {
  return (slot) => slot.cluster === klass.cluster &&
    (slot.uid === ref.uid || (ref.provider_id !== '' && slot.id === id(ref.provider_id)) || (slot.uid === '' && slot.name === ref.name));
}

const id = (providerID) => providerID.replace(/^shelf:\/*/i, '').toLowerCase();

function instance(slot) {
  return {
    id: slot.id, uid: slot.uid, name: slot.name, owner: slot.owner, namespace: slot.namespace, provider_id: `shelf:///${slot.id}`,
    state: 'STATE_RUNNING', raw_state: 'on the shelf', tags: { items: { cluster: slot.cluster } },
  };
}

const calls = {
  Open(q) {
    decode(q.class);
    return {
      capabilities: ['CAPABILITY_ACCOUNTER', 'CAPABILITY_SCOPER'],
      identities: [{ pattern: '(?i)shelf:/*(.+)', name: '$1', fold_case: true }],
    };
  },
  // complete says that the shelf was really looked at: without it, an empty reply counts for nothing.
  Find(q) {
    decode(q.class);
    return { instances: load().slots.filter(mine(q.class, q.ref)).map(instance), complete: true };
  },
  // Create looks first. Everything here is synchronous, so that no two calls overlap; who awaits anything in between has to keep
  // two creations, or a creation and a deletion, of one UID apart, also where the caller of the first has gone.
  Create(q) {
    if (decode(q.class) === null) throw new Failure('INVALID', 'the class has no spec');
    if (q.choice !== '') throw new Failure('INVALID', `there is no choice "${q.choice}"`);
    const shelf = load();
    const there = shelf.slots.find(mine(q.class, q.ref));
    if (there) return { instance: instance(there) };
    const slot = {
      id: q.token, uid: q.ref.uid, name: q.ref.name, namespace: q.ref.namespace, owner: q.class.owner, cluster: q.class.cluster,
    };
    shelf.slots.push(slot);
    save(shelf);
    return { instance: instance(slot) };
  },
  Delete(q) {
    const shelf = load();
    const given = new Set(q.instances.map((i) => i.id));
    const goes = (s) => s.cluster === q.class.cluster && (given.has(s.id) || (q.ref.uid !== '' && s.uid === q.ref.uid));
    shelf.slots = shelf.slots.filter((s) => !goes(s));
    save(shelf);
    return { done: true };
  },
  Account() {
    const shelf = load();
    save(shelf);
    return { account: shelf.account };
  },
};

// unary answers one call: a Failure in the reply, and whatever else goes wrong as a status.
function unary(call) {
  return ({ request }, callback) => {
    if (request.version !== 1) {
      callback({ code: grpc.status.FAILED_PRECONDITION, details: 'say hello first: version 1 is spoken here' });
      return;
    }
    try {
      callback(null, call(request));
    } catch (e) {
      if (e instanceof Failure) callback(null, e.reply);
      else callback({ code: grpc.status.INTERNAL, details: e.message });
    }
  };
}

function hello({ request }, callback) {
  callback(null, { version: request.versions.includes(1) ? 1 : 0, versions: [1], name: 'shelf' });
}

// list sends pages. Only the last one says that it is; a stream that ends without is a listing that failed.
function list(stream) {
  const { class: klass } = stream.request;
  try {
    const all = load().slots.filter((s) => s.cluster === klass.cluster).map(instance);
    for (let n = 0; n < all.length; n += 100) stream.write({ instances: all.slice(n, n + 100) });
    stream.write({ complete: true });
    stream.end();
  } catch (e) {
    stream.emit('error', { code: grpc.status.INTERNAL, details: e.message });
  }
}

const server = new grpc.Server();
server.addService(service, { Hello: hello, List: list, ...Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, unary(call)])) });
fs.rmSync(address.replace('unix://', ''), { force: true });
server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});
