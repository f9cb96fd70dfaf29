//! `stitch mcp`: a client of the Model Context Protocol starts the program and calls its tools.

mod common;

use std::os::fd::OwnedFd;
use std::process::Stdio;

use common::Home;
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use serde_json::json;
use tokio::net::unix::pipe;

#[test]
fn an_agent_starts_the_program_and_calls_its_tools() {
    let home = Home::indexed();
    let mut command = home.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let input = OwnedFd::from(child.stdin.take().unwrap());
    let output = OwnedFd::from(child.stdout.take().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let pipes = (
            pipe::Receiver::from_owned_fd(output).unwrap(),
            pipe::Sender::from_owned_fd(input).unwrap(),
        );
        let client = ().serve(pipes).await.unwrap();
        let mut tools: Vec<String> = client
            .list_all_tools()
            .await
            .unwrap()
            .into_iter()
            .map(|tool| tool.name.into())
            .collect();
        tools.sort_unstable();
        let expected = [
            "explain_step",
            "export",
            "find_demonstration",
            "library_status",
            "preview_frame",
            "render",
            "search_clips",
            "swap_or_lock",
        ];
        assert_eq!(tools, expected);
        let procedure = json!({"procedure": {"steps": ["Sand the board", "Fly to the moon"]}});
        let call = CallToolRequestParams::new("find_demonstration")
            .with_arguments(procedure.as_object().unwrap().clone());
        let found = client.call_tool(call).await.unwrap().structured_content.unwrap();
        assert_eq!(found["steps"][0]["shown_by"][0]["text"], "Sand the board", "{found}");

        let said = home.fails(&["mcp"], 1);
        assert!(said.contains("serves") && said.contains("/mcp"), "{said}");
        client.cancel().await.unwrap();
    });
    assert!(child.wait().unwrap().success(), "it ends when the agent goes");
}

#[test]
fn what_is_no_protocol_ends_the_program_with_a_message() {
    let home = Home::indexed();
    let mut command = assert_cmd::Command::from_std(home.command(&["mcp"]));
    let said = command.write_stdin("hello\n").assert().failure();
    let said = String::from_utf8_lossy(&said.get_output().stderr).into_owned();
    assert!(said.contains("Model Context Protocol"), "{said}");
}
