"""A TCP proxy that does to each HTTP request what a bad network can do. Standard library only.

It stands between clients and a server on this machine. A *way* is a function of one Exchange; the proxy asks `plan` which
way a request goes. Whole messages are held in memory: it is made for requests that end, not for event streams."""
import select
import socket
import struct
import threading
import time


class Gone(Exception):
    """The other end closed its connection before a message was whole."""


class Cut(Exception):
    """Raised by a way: nothing more goes to this client on this connection."""


class Message:
    """The bytes of a request or a reply, head and body."""

    def __init__(self, head, body):
        self.head, self.body = head, body
        line, *fields = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        self.words = line.split(" ", 2)
        self.fields = {}
        for field in fields:
            name, _, value = field.partition(":")
            self.fields[name.strip().lower()] = value.strip()

    @property
    def bytes(self):
        return self.head + self.body

    @property
    def status(self):
        return int(self.words[1])

    @property
    def method(self):
        return self.words[0]

    @property
    def target(self):
        return self.words[1]


class Wire:
    """A socket from which whole messages are read."""

    def __init__(self, sock):
        self.sock, self.rest = sock, b""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data):
        try:
            self.sock.sendall(data)
        except OSError:
            raise Gone

    def _more(self):
        try:
            data = self.sock.recv(262144)
        except OSError:
            data = b""
        if not data:
            raise Gone
        self.rest += data

    def _take(self, n):
        while len(self.rest) < n:
            self._more()
        taken, self.rest = self.rest[:n], self.rest[n:]
        return taken

    def _until(self, mark):
        while mark not in self.rest:
            self._more()
        return self._take(self.rest.index(mark) + len(mark))

    def _chunks(self):
        body = b""
        while True:
            line = self._until(b"\r\n")
            size = int(line.split(b";")[0], 16)
            body += line + self._take(size + 2)
            if size == 0:
                return body

    def message(self, has_body=lambda message: True):
        """The next one; Gone where the other end closed first."""
        message = Message(self._until(b"\r\n\r\n"), b"")
        if message.fields.get("expect") == "100-continue":
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        if message.fields.get("transfer-encoding") == "chunked":
            message.body = self._chunks()
        elif has_body(message):
            message.body = self._take(int(message.fields.get("content-length", 0)))
        return message

    def reply(self, method):
        """The final reply to a request of this method."""
        while True:
            reply = self.message(lambda m: method != "HEAD" and m.status not in (204, 304) and m.status >= 200)
            if reply.status >= 200:
                return reply

    def close(self, abruptly=False):
        if abruptly:  # a reset in place of an end
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


class Exchange:
    """One request on its way. What a way does not send, the server never sees; what it does not answer, the client waits
    for in vain."""

    def __init__(self, proxy, client, request):
        self.proxy, self.client, self.request = proxy, client, request
        self.opened = []

    def server(self):
        """Another connection to the server."""
        wire = Wire(socket.create_connection(("127.0.0.1", self.proxy.server_port), self.proxy.timeout_s))
        self.opened.append(wire)
        return wire

    def reply(self, wire):
        """The server's whole reply, recorded; Cut where the client leaves first."""
        if not wire.rest:
            while True:
                ready = select.select([wire.sock, self.client.sock], [], [], self.proxy.timeout_s)[0]
                if wire.sock in ready:
                    break
                if not ready or not self.client.sock.recv(1, socket.MSG_PEEK):
                    raise Cut
                time.sleep(0.001)  # a client that talks on while it waits: its bytes stay where they are
        reply = wire.reply(self.request.method)
        self.proxy.record(self.request, reply)
        return reply

    def forward(self, data=None):
        """Sends the request (or what of it is given) on a new connection."""
        wire = self.server()
        wire.send(self.request.bytes if data is None else data)
        return wire

    def answer(self, data):
        self.client.send(data)

    def close(self):
        for wire in self.opened:
            wire.close()


# ---- the ways ----

def through(x):
    x.answer(x.reply(x.forward()).bytes)


def cut_before_the_headers(x):
    x.server()
    raise Cut


def cut_in_the_headers(x):
    x.forward(x.request.head[:len(x.request.head) // 2])
    raise Cut


def cut_before_the_body(x):
    x.forward(x.request.head)
    raise Cut


def cut_in_the_body(x):
    x.forward(x.request.head + x.request.body[:len(x.request.body) // 2])
    raise Cut


def cut_when_sent(x):
    """Whether the server sees the request or the end first is left to chance."""
    x.forward()
    raise Cut


def cut_before_the_reply(x):
    x.reply(x.forward())
    raise Cut


def cut_in_the_reply(x):
    reply = x.reply(x.forward()).bytes
    x.answer(reply[:len(reply) // 2])
    raise Cut


def delayed(x):
    """In pieces, with pauses within the headers, within the body and before the reply."""
    head, body = x.request.head, x.request.body
    wire = x.server()
    for piece in (head[:7], head[7:], body[:3], body[3:]):
        if piece:
            wire.send(piece)
            time.sleep(x.proxy.delay_s)
    reply = x.reply(wire).bytes
    time.sleep(x.proxy.delay_s)
    x.answer(reply)


def twice_at_once(x):
    """Both copies lie there but for their last byte; then they go together. The client gets the first one's reply."""
    data = x.request.bytes
    one, copy = x.forward(data[:-1]), x.forward(data[:-1])
    copy.send(data[-1:])
    one.send(data[-1:])
    x.opened.remove(copy)
    x.proxy.read_aside(x.request, copy)
    x.answer(x.reply(one).bytes)


def twice_in_turn(x):
    """The copy comes when the first one is answered."""
    reply = x.reply(x.forward()).bytes
    x.proxy.send_aside(x.request)
    x.answer(reply)


def late(x):
    """The client gives it up for lost; it arrives when the proxy is told to deliver it, after what the client sends then."""
    x.proxy.hold(x.request)
    raise Cut


CUTS = (cut_before_the_headers, cut_in_the_headers, cut_before_the_body, cut_in_the_body, cut_when_sent, cut_before_the_reply,
        cut_in_the_reply)
WAYS = CUTS + (delayed, twice_at_once, twice_in_turn, late)


class Proxy:
    def __init__(self, server_port, plan=lambda request: through, timeout_s=300, delay_s=0.002):
        self.server_port, self.plan, self.timeout_s, self.delay_s = server_port, plan, timeout_s, delay_s
        self.lock = threading.Lock()
        self.replies = []  # (request, reply) of what the server answered, delivered to a client or not; see `keep`
        self.keep = True   # False: they are not recorded, for long runs
        self.held, self.aside, self.clients, self.is_open = [], [], set(), True
        self.counts = {}   # how many requests went which way
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.url = "http://127.0.0.1:%d" % self.port
        threading.Thread(target=self._accept, daemon=True).start()

    def record(self, request, reply):
        if self.keep:
            with self.lock:
                self.replies.append((request, reply))

    def hold(self, request):
        with self.lock:
            self.held.append(request)

    def read_aside(self, request, wire):
        """Reads a reply that goes nowhere, in a thread of its own: a long-poll may take its time."""
        def read():
            try:
                self.record(request, wire.reply(request.method))
            except Gone:
                pass
            finally:
                wire.close()
        thread = threading.Thread(target=read, daemon=True)
        with self.lock:
            self.aside = [t for t in self.aside if t.is_alive()] + [thread]
            thread.start()

    def send_aside(self, request):
        try:
            wire = Wire(socket.create_connection(("127.0.0.1", self.server_port), self.timeout_s))
            wire.send(request.bytes)
        except (Gone, OSError):
            return  # the server is not there
        self.read_aside(request, wire)

    def deliver(self):
        """Sends what was held back, oldest first, each on a connection of its own."""
        with self.lock:
            held, self.held = self.held, []
        for request in held:
            self.send_aside(request)

    def settle(self):
        """Waits for the replies that go nowhere."""
        with self.lock:
            threads = list(self.aside)
        for thread in threads:
            thread.join(self.timeout_s)

    def _accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                if not self.is_open:
                    sock.close()
                    return
                self.clients.add(sock)
            threading.Thread(target=self._serve, args=(Wire(sock),), daemon=True).start()

    def _serve(self, client):
        try:
            while True:
                self._exchange(client)
        except (Gone, Cut, OSError):
            pass
        finally:
            with self.lock:
                self.clients.discard(client.sock)
            client.close(abruptly=True)

    def _exchange(self, client):
        request = client.message()
        way = self.plan(request)
        with self.lock:
            self.counts[way.__name__] = self.counts.get(way.__name__, 0) + 1
        x = Exchange(self, client, request)
        try:
            way(x)
        finally:
            x.close()

    def close(self):
        with self.lock:
            self.is_open = False
            clients = list(self.clients)
        self.listener.close()
        for sock in clients:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def send(port, data, method=None, timeout_s=300):
    """Sends these bytes on a connection of its own; the reply, or None where the connection ended before it was whole."""
    wire = None
    try:
        wire = Wire(socket.create_connection(("127.0.0.1", port), timeout_s))
        wire.send(data)
        return wire.reply(method or data.split(b" ", 1)[0].decode("latin-1"))
    except (Gone, OSError):
        return None
    finally:
        if wire:
            wire.close()
