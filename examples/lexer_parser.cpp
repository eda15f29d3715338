// A lexer and a parser as two coroutines: lexer_parser FILE.cpp
//
// The lexer reads the text and yields tokens. The parser reads the tokens and yields the definitions at the
// top level of a C or C++ file. Each is a plain loop that keeps its place between two elements, and none is
// turned into a state machine for the other one. Source: Dolan 2013, section 1 (its motivating example).
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "sennit/generator.hpp"

struct token {
  std::string_view text;
  int line;
};

struct definition {
  std::string name;
  int line;
};

static bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Returns the end of the comment, preprocessor line or literal that begins at `at`, or `at` if there is none.
static std::size_t skip(std::string_view text, std::size_t at) {
  const auto after = [&](std::string_view mark, std::size_t from) {
    const std::size_t found = text.find(mark, from);
    return found == std::string_view::npos ? text.size() : found + mark.size();
  };
  if (text.substr(at, 2) == "//" || text[at] == '#')
    return after("\n", at);
  if (text.substr(at, 2) == "/*")
    return after("*/", at + 2);
  if (text[at] != '"' && text[at] != '\'')
    return at;
  std::size_t end = at + 1;
  while (end < text.size() && text[end] != text[at])
    end += text[end] == '\\' ? 2 : 1;
  return end + 1;
}

static sennit::generator<token> tokens(std::string_view text) {
  return sennit::generator<token>([text](auto& yield) {
    int line = 1;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = skip(text, at);
      if (end == at) {
        while (end < text.size() && in_word(text[end]))
          ++end;
        if (end == at)
          ++end;
        if (!std::isspace(static_cast<unsigned char>(text[at])))
          yield(token{text.substr(at, end - at), line});
      }
      for (end = std::min(end, text.size()); at < end; ++at)
        line += text[at] == '\n';
    }
  });
}

// A definition is a word, a list in parentheses and a block in braces, outside of other blocks. The braces of
// a namespace do not count as a block.
static sennit::generator<definition> definitions(sennit::generator<token> from) {
  return sennit::generator<definition>([from = std::move(from)](auto& yield) mutable {
    definition candidate;
    std::string_view before;
    int depth = 0, parentheses = 0;
    bool is_namespace = false;
    for (const token each : from) {
      if (each.text == "(" && parentheses++ == 0 && depth == 0)
        candidate = {std::string(before), each.line};
      else if (each.text == ")")
        --parentheses;
      else if (each.text == "namespace")
        is_namespace = true;
      else if (each.text == "{" && depth == 0 && is_namespace)
        is_namespace = false;
      else if (each.text == "{" && depth++ == 0 && !candidate.name.empty())
        yield(candidate);
      else if (each.text == "}" && depth > 0)
        --depth;
      if (depth == 0 && (each.text == ";" || each.text == "}"))
        candidate = {};
      before = each.text;
    }
  });
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: lexer_parser FILE.cpp\n");
    return 2;
  }
  std::ifstream file(argv[1]);
  if (!file) {
    std::fprintf(stderr, "lexer_parser: cannot read %s\n", argv[1]);
    return 1;
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const definition& each : definitions(tokens(text)))
    std::printf("line %d: %s\n", each.line, each.name.c_str());
}
