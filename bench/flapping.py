"""A link that comes and goes: a TCP proxy that cuts, stalls and half-closes what goes over it, by a seed. Standard library only."""
import asyncio
import collections
import random
import threading

UP_S, STALL_S, DOWN_S = (1.0, 8.0), (0.2, 4.0), (0.1, 3.0)
KINDS = ("cut", "half-closed", "stalled", "stalled and cut", "down")


class Link:
    """One port of ours that leads to the target, badly."""

    def __init__(self, target_port, seed, counts):
        self.target_port, self.draw, self.counts = target_port, random.Random(seed), counts
        self.writers, self.is_down = set(), False
        self.goes = asyncio.Event()
        self.goes.set()

    async def open(self):
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        self.flapping = asyncio.create_task(self.flap())  # a reference, or it would be collected

    async def accept(self, reader, writer):
        if self.is_down:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            writer.transport.abort()
            return
        pair = {writer, far_writer}
        self.writers |= pair
        try:
            await asyncio.gather(self.pump(reader, far_writer), self.pump(far_reader, writer))
        except asyncio.CancelledError:
            pass  # the end of all links
        finally:
            self.writers -= pair
            for w in pair:
                w.transport.abort()

    async def pump(self, reader, writer):
        try:
            while True:
                data = await reader.read(65536)
                await self.goes.wait()
                if not data:
                    break
                writer.write(data)
                await writer.drain()
            writer.write_eof()
        except (OSError, RuntimeError):
            writer.transport.abort()

    def cut(self):
        for writer in self.writers:
            writer.transport.abort()

    def half_close(self):
        for writer in self.writers:
            if self.draw.random() < 0.5 and not writer.transport.is_closing():
                try:
                    writer.write_eof()
                except OSError:
                    writer.transport.abort()

    async def flap(self):
        while True:
            await asyncio.sleep(self.draw.uniform(*UP_S))
            kind = self.draw.choice(KINDS)
            self.counts[kind] += 1
            if kind.startswith("stalled"):
                self.goes.clear()
                await asyncio.sleep(self.draw.uniform(*STALL_S))
            if kind.endswith("cut") or kind == "down":
                self.cut()
            if kind == "half-closed":
                self.half_close()
            if kind == "down":
                self.is_down = True
                await asyncio.sleep(self.draw.uniform(*DOWN_S))
                self.is_down = False
            self.goes.set()


class Links:
    """Some of them, on a thread of their own."""

    def __init__(self, target_port, number, seed):
        self.counts = collections.Counter()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.links = asyncio.run_coroutine_threadsafe(self.make(target_port, number, seed), self.loop).result(30)
        self.ports = [link.port for link in self.links]

    async def make(self, target_port, number, seed):
        links = [Link(target_port, seed * 1000 + i, self.counts) for i in range(number)]
        for link in links:
            await link.open()
        return links

    def close(self):
        async def end():
            for link in self.links:
                link.server.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
        asyncio.run_coroutine_threadsafe(end(), self.loop).result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)
        self.loop.close()
