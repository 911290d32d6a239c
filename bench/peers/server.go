// The low-level server of the Go SDK: `server TABLE` serves over stdio, `server TABLE TOKEN PORT` over HTTP.
package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func call(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	text := "done"
	if request.Params.Name == "large" {
		var arguments struct{ Size int }
		if err := json.Unmarshal(request.Params.Arguments, &arguments); err != nil {
			return nil, err
		}
		text = strings.Repeat("x", arguments.Size)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
}

func makeServer(path string) *mcp.Server {
	text, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	var tools []*mcp.Tool
	if err := json.Unmarshal(text, &tools); err != nil {
		log.Fatal(err)
	}
	options := &mcp.ServerOptions{PageSize: len(tools)}
	server := mcp.NewServer(&mcp.Implementation{Name: "synthetic", Version: "0.1.0"}, options)
	for _, tool := range tools {
		server.AddTool(tool, call)
	}
	return server
}

func serveHTTP(server *mcp.Server, token string, port string) error {
	verify := func(_ context.Context, given string, _ *http.Request) (*auth.TokenInfo, error) {
		if subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 0 {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
	}
	find := func(*http.Request) *mcp.Server { return server }
	// The SDK serves the era without sessions only by a handler of its own.
	stateless := mcp.NewStreamableHTTPHandler(find, &mcp.StreamableHTTPOptions{Stateless: true})
	stateful := mcp.NewStreamableHTTPHandler(find, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
	handler := http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if request.Header.Get("MCP-Protocol-Version") >= "2026-07-28" {
			stateless.ServeHTTP(writer, request)
		} else {
			stateful.ServeHTTP(writer, request)
		}
	})
	http.Handle("/mcp", auth.RequireBearerToken(verify, nil)(handler))
	return http.ListenAndServe("127.0.0.1:"+port, nil)
}

func main() {
	server := makeServer(os.Args[1])
	var err error
	if len(os.Args) > 2 {
		err = serveHTTP(server, os.Args[2], os.Args[3])
	} else {
		err = server.Run(context.Background(), &mcp.StdioTransport{})
	}
	if err != nil {
		log.Fatal(err)
	}
}
