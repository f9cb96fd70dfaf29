"""Calls the tools of `stitch mcp` and of `stitch serve` with the Python client of the Model Context Protocol."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

TOOLS = {"library_status", "search_clips", "find_demonstration", "explain_step", "swap_or_lock", "preview_frame",
         "render", "export"}
STEPS = ["Dice the onion", "Fly to the moon", "Saw the board"]


async def answer(client, tool, arguments, **options):
    result = await client.call_tool(tool, arguments, **options)
    assert not result.is_error, (tool, result.content)
    return result.structured_content


async def refusal(client, tool, arguments):
    result = await client.call_tool(tool, arguments)
    assert result.is_error, (tool, result.content)
    return result.content[0].text


async def check(client, folder):
    """All tools, with progress, and a file only where that is allowed."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == TOOLS, sorted(tools)
    assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools.values())
    assert (await answer(client, "library_status", {}))["videos"] > 0
    assert (await answer(client, "search_clips", {"text": "saw the board"}))["shown"]
    found = await answer(client, "find_demonstration", {"procedure": {"title": "Odd", "steps": STEPS}})
    number = found["demonstration"]
    shown = next(step for step in found["steps"] if step["shown_by"])
    why = await answer(client, "explain_step", {"demonstration": number, "step": shown["step"]})
    assert why["chosen"]["probability"] > 0
    change = {"kind": "lock", "step": shown["step"]}
    locked = await answer(client, "swap_or_lock", {"demonstration": number, "change": change})
    assert locked["steps"][shown["step"]]["locked"]
    clip = shown["shown_by"][0]
    frame = await client.call_tool("preview_frame", {"video": clip["clip"]["video"], "at_ms": clip["cut_start_ms"]})
    assert frame.content[0].mime_type == "image/jpeg"

    told = []

    async def progress(done, total, message):
        told.append(done)

    video = os.path.join(folder, "odd.mp4")
    made = await answer(client, "render", {"demonstration": number, "output": video}, progress_callback=progress)
    assert made["file"] == video and os.path.getsize(video) > 1000
    assert told and told == sorted(told), told
    said = await refusal(client, "export", {"demonstration": number, "format": "srt", "output": "/tmp/odd.srt"})
    assert "--root" in said, said
    subtitles = os.path.join(folder, "odd.srt")
    await answer(client, "export", {"demonstration": number, "format": "srt", "output": subtitles})
    assert STEPS[0] in open(subtitles).read()


async def over_stdio(stitch):
    with tempfile.TemporaryDirectory() as folder:
        server = StdioServerParameters(command=stitch, args=["mcp", "--root", folder], env=dict(os.environ))
        async with Client(server) as client:
            await check(client, folder)


async def over_http(stitch):
    token = "0123456789abcdef0123456789"
    with tempfile.TemporaryDirectory() as folder:
        command = [stitch, "--json", "serve", "--port", "0", "--token", token, "--root", folder]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            url = json.loads(server.stdout.readline())["url"].split("?")[0] + "mcp"
            http = create_mcp_http_client(headers={"Authorization": f"Bearer {token}"})
            async with Client(streamable_http_client(url, http_client=http)) as client:
                await check(client, folder)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    asyncio.run(over_stdio(sys.argv[1]))
    asyncio.run(over_http(sys.argv[1]))
    print("interop: agents call the tools over standard input and output, and over HTTP")
