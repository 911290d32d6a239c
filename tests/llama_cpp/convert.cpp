// llama.cpp's own converter and grammar parser. Reads lines: a schema as JSON, or a grammar that begins with "root" and
// has tabs between its rules.
// Prints an error or an empty line to stdout for each; its warnings, then a line ".", to stderr.
#include "json-schema-to-grammar.h"
#include "llama-grammar.h"
#include "llama-vocab.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

// Only the generation of text calls these.
extern "C" void ggml_abort(const char *, int, const char *, ...) { std::abort(); }
int llama_vocab::tokenize(const char *, int, int *, int, bool, bool) const { std::abort(); }

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        std::string error;
        try {
            const bool is_grammar = line.rfind("root", 0) == 0;
            if (is_grammar) {
                std::replace(line.begin(), line.end(), '\t', '\n');
            }
            const std::string grammar = is_grammar ? line : json_schema_to_grammar(common_json::parse(line), true);
            llama_grammar_parser parser;
            if (!parser.parse(grammar.c_str())) {
                error = "failed to parse grammar";
            }
        } catch (const std::exception & exception) {
            error = exception.what();
        }
        std::replace(error.begin(), error.end(), '\n', ' ');
        std::cout << error << std::endl;
        std::cerr << "." << std::endl;
    }
}
