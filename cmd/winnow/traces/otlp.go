package traces

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/winnow-reaper/winnow/internal/httppost"
)

// client sends spans by OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp). The exporter of OpenTelemetry's own that does that brings gRPC, follows redirects, and
// takes addresses and headers from the environment.
type client struct{ t *Tracer }

func (t *Tracer) client() otlptrace.Client { return client{t} }

// Start implements otlptrace.Client.
func (client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (client) Stop(context.Context) error { return nil }

// UploadTraces implements otlptrace.Client.
func (c client) UploadTraces(ctx context.Context, spans []*otlp.ResourceSpans) error {
	for _, s := range spans {
		// In place of what the SDK makes of the environment (OTEL_RESOURCE_ATTRIBUTES) and of the command line.
		s.Resource = &resource.Resource{Attributes: c.describe()}
	}
	// TracesData has the same field as ExportTraceServiceRequest, whose package brings gRPC.
	body, err := proto.Marshal(&otlp.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	to, err := c.t.target(ctx)
	if err != nil {
		return err
	}
	answer, err := httppost.Post(ctx, to, "application/x-protobuf", body)
	if err != nil {
		return err
	}
	if n := refused(answer); n > 0 {
		return rejected(n)
	}
	return nil
}

func (c client) describe() (out []*common.KeyValue) {
	for _, kv := range [][2]string{{"service.name", "winnow"}, {"service.version", c.t.o.Version}, {"host.name", c.t.o.Host}} {
		if kv[1] != "" {
			out = append(out, &common.KeyValue{Key: kv[0], Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: strings.ToValidUTF8(kv[1], "?")}}})
		}
	}
	return out
}

// rejected is how many spans of a request a collector did not take. It took the others, so it is not tried again.
type rejected int

func (n rejected) Error() string { return fmt.Sprintf("the collector rejected %d spans", int(n)) }

// refused is rejected_spans of ExportTraceServiceResponse: field 1 of its field 1 (opentelemetry/proto/collector/trace/v1). An answer that cannot be read rejects none.
func refused(answer []byte) int64 {
	var n uint64
	field(answer, func(value []byte, _ uint64) {
		field(value, func(_ []byte, number uint64) { n = number })
	})
	return max(int64(n&(1<<62-1)), 0)
}

// field calls found for each field 1 of a message, with its bytes or its number.
func field(message []byte, found func(value []byte, number uint64)) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		rest := message[n:]
		size := protowire.ConsumeFieldValue(number, kind, rest)
		if size < 0 {
			return
		}
		if number == 1 {
			switch kind {
			case protowire.BytesType:
				value, _ := protowire.ConsumeBytes(rest)
				found(value, 0)
			case protowire.VarintType:
				value, _ := protowire.ConsumeVarint(rest)
				found(nil, value)
			}
		}
		message = rest[size:]
	}
}
